// Dual coordinate descent for the problem of one class.

#pragma once

#include <cmath>
#include <numeric>

#include "features.h"

namespace solver {

// Random numbers that are equal on every machine.
struct XorShift {
    uint64_t state;
    uint32_t below(uint32_t n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return uint32_t((uint64_t(uint32_t(state >> 16)) * n) >> 32);
    }
};

struct StoppingRule {
    double tolerance;
    int max_passes;
    double gap;  // a problem with a smaller relative duality gap is solved as well
};

constexpr size_t MIN_DOCS_FOR_WORKING_SETS = 2000;
constexpr double MAX_RELATIVE_GAP = 2e-4;
constexpr size_t MAX_DOCS = size_t{1} << 31;
constexpr int FINAL_PASSES = 20;                // the last passes visit shrunk candidates again
constexpr double MIN_STEP_OF_TOLERANCE = 0.25;  // candidates with a smaller gradient do not move
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// A training document of a class.
struct Candidate {
    double dual;  // the factor of the document in the weights
    double sign;
    double cost;  // of an error; positive
    double squared_length;
    double softness;  // 1 / (2 C cost), for the current C
    float own;        // the value of the feature that only this class has
    int32_t doc;
    uint32_t row;  // index among the rows of the task
};

// The result of several passes over candidates.
struct Descent {
    int n_passes = 0;
    bool is_solved = false;    // the spread of gradients or the gap is within its limit
    bool covered_all = false;  // no candidate was shrunk in the last pass
    bool was_close = false;    // the gap was within its limit in the first pass
    double first_spread = 0;
};

// The problem of one class. The object is reused for further classes.
template <typename Space>
class Problem {
public:
    explicit Problem(Space space) : space(std::move(space)) {}

    void begin() {
        space.begin();
        candidates.clear();
        random_ = XorShift{0x9E3779B97F4A7C15ull};
    }

    void take(Candidate candidate) {
        const double own = candidate.own;
        candidate.squared_length = space.squared_length(size_t(candidate.doc)) + own * own + 1;
        if (candidate.dual > 0)
            space.add(size_t(candidate.doc), candidate.own, candidate.dual * candidate.sign);
        candidates.push_back(candidate);
    }

    // Find the optimum for the candidates, starting from the current solution.
    void solve(double C, const StoppingRule& stopping, Watch& watch) {
        random_ = XorShift{0x9E3779B97F4A7C15ull};
        for (int n_passes = 0; n_passes < stopping.max_passes;) {
            const int limit = passes_before_recheck(n_passes, stopping.max_passes);
            const Descent descent =
                descend(C, stopping.tolerance, stopping.gap, false, limit - n_passes, watch);
            if (descent.is_solved && descent.covered_all) break;
            n_passes += descent.n_passes;
        }
    }

    // Visit all candidates, then those that may still move, until the spread of their gradients is
    // within the tolerance. `is_eager` shrinks candidates that need not move at once. It requires
    // that the caller checks all documents afterwards.
    Descent descend(double C, double tolerance, double max_gap, bool is_eager, int max_passes,
                    Watch& watch) {
        const size_t n_steps = space.n_steps();
        const double min_step = std::max(1e-12, MIN_STEP_OF_TOLERANCE * tolerance);
        active_.resize(candidates.size());
        std::iota(active_.begin(), active_.end(), uint32_t(0));
        for (Candidate& candidate : candidates) candidate.softness = 0.5 / (C * candidate.cost);
        size_t n_active = active_.size();
        double shrink_above = is_eager ? 0 : INFINITE;
        Descent result;
        size_t n_visits = 0;  // over all passes, which may be short and many
        while (result.n_passes < max_passes && !result.is_solved) {
            double highest = is_eager ? 0 : -INFINITE, lowest = is_eager ? 0 : INFINITE;
            double gap = 0;    // an upper limit of twice the duality gap
            double value = 0;  // the dual objective
            for (size_t s = 0; s < n_active; ++s)
                std::swap(active_[s], active_[s + random_.below(uint32_t(n_active - s))]);
            for (size_t s = 0; s < n_active;) {
                if ((++n_visits & 63) == 0)
                    watch.add_steps(64 * n_steps);  // not in every step, because it costs time
                if (s + 8 < n_active) prefetch(&candidates[active_[s + 8]]);
                if (s + 4 < n_active) space.prepare(size_t(candidates[active_[s + 4]].doc));
                Candidate& candidate = candidates[active_[s]];
                const auto doc = size_t(candidate.doc);
                const double gradient = candidate.sign * space.score(doc, candidate.own) - 1 +
                                        candidate.dual * candidate.softness;
                double projected = gradient;
                if (candidate.dual == 0) {
                    if (gradient > shrink_above) {  // it will stay at 0
                        std::swap(active_[s], active_[--n_active]);
                        continue;
                    }
                    projected = std::min(gradient, 0.0);
                }
                ++s;
                highest = std::max(highest, projected);
                lowest = std::min(lowest, projected);
                gap += projected * projected / candidate.softness;
                value += candidate.dual * (1 - gradient);
                if (std::abs(projected) <= min_step) continue;
                const double before = candidate.dual;
                candidate.dual = std::max(
                    before - gradient / (candidate.squared_length + candidate.softness), 0.0);
                space.add(doc, candidate.own, (candidate.dual - before) * candidate.sign);
            }
            // every change is added to the intercept, so any NaN appears there
            check(std::isfinite(space.intercept),
                  "a feature or a cost is not finite; check the vectors and the weights of "
                  "documents");
            const double spread = highest - lowest;
            const bool is_close = max_gap > 0 && gap <= max_gap * value;
            if (result.n_passes++ == 0) {
                result.first_spread = spread;
                result.was_close = is_close;
            }
            result.is_solved = spread <= tolerance || is_close;
            result.covered_all = n_active == active_.size();
            if (!is_eager) shrink_above = highest > 0 ? highest : INFINITE;
        }
        return result;
    }

    // Return the number of passes after which shrunk candidates are checked again.
    static int passes_before_recheck(int n_passes, int max_passes) {
        return n_passes < max_passes - FINAL_PASSES ? max_passes - FINAL_PASSES : max_passes;
    }

    Space space;
    std::vector<Candidate> candidates;

private:
    std::vector<uint32_t> active_;
    XorShift random_{0};
};

}  // namespace solver

// Coordinate descent over the few documents that matter, for many classes at a time.

#pragma once

#include "weight_table.h"

namespace solver {

// Only documents with a positive dual variable matter, and these are few of many. So the working
// set of a class starts with its own documents and a sample of the others. When it is solved,
// roughly at first, all documents are scored for many classes at once. Those that violate the
// margin join the working set, until there are none. This search uses single precision. The
// violations are verified in double precision, which ends the rounds.

constexpr size_t MIN_CLASSES_FOR_WORKING_SETS =
    4;  // below this, the search costs more than it saves
// one in this number of documents of other classes is in the first working set
constexpr size_t SAMPLE_STRIDE = 16;
// the tolerances of the rounds, if they are above the final tolerance
constexpr double TOLERANCES[] = {1, 0.1, 0.003};
// All documents are used if this share of the first working set has positive dual variables, or one
// in this number of all documents has one.
constexpr double MIN_SHARE_OF_SUPPORT = 0.92;
constexpr size_t MAX_SUPPORT_DIVISOR = 4;
constexpr double MIN_VIOLATION_OF_TOLERANCE = 0.5;  // smaller violations are ignored

// A set of rows of the task, with one bit per row.
using RowSet = std::vector<uint64_t>;

inline void insert(RowSet& set, size_t row) { set[row / BITS] |= uint64_t{1} << (row % BITS); }

// One class of a group, between rounds.
struct ClassState {
    size_t class_number = 0;
    std::vector<uint32_t> own;      // the rows of its documents, ascending
    std::vector<uint32_t> support;  // the rows with a positive dual variable, ascending
    std::vector<double> duals;
    size_t slot = 0;  // its number in the table of weights and in the violations
    int n_rounds = 0, n_passes = 0;
    size_t next_tolerance = 0;
    double tolerance = 0;  // of the last round
    bool is_solved = false;
};

// Classes that are solved together.
class WorkingSets {
public:
    WorkingSets(const Documents& documents, const Task& task)
        : documents_(documents),
          task_(task),
          unsolved_weights_(documents, task),
          solved_weights_(documents, task) {
        for (size_t k = 0; k < task.n_threads; ++k) problems_.emplace_back(FeatureSpace(documents));
        for (size_t k = 0; k < task.rows.size(); ++k) {
            const int32_t doc = task.rows.data()[k];
            if (task.doc_cost.data()[doc] > 0) rows_.push_back(doc);
        }
        n_words_ = (rows_.size() + BITS - 1) / BITS;
    }

    // Call work() for each group of classes. Memory limits the size of a group.
    template <typename Work>
    void for_each_group(Work work) {
        const size_t n_features = documents_.n_columns + documents_.n_block;
        const size_t bytes_per_class = 2 * sizeof(float) * n_features + 16 * rows_.size() + 1;
        const size_t n_fitting = GROUP_BYTES / bytes_per_class / LANES * LANES;
        const size_t n_per_group = std::min(std::max(n_fitting, LANES), MAX_CLASSES_PER_GROUP);
        const std::vector<size_t> order = task_.classes_by_size();
        for (size_t first = 0; first < order.size(); first += n_per_group) {
            begin(order.data() + first, std::min(n_per_group, order.size() - first));
            work();
        }
    }

    // Find the optimum of every class, starting from the current solution. penalty_of(class) is its
    // C, and keep(index in the group, class, space) receives its weights.
    template <typename PenaltyOf, typename Keep>
    void solve(PenaltyOf penalty_of, Keep keep) {
        for (ClassState& state : states_) {
            state.n_rounds = state.n_passes = 0;
            state.is_solved = false;
        }
        for (;;) {
            std::atomic<size_t> next{0}, n_slots{0};
            run_in_threads(std::min(task_.n_threads, states_.size()), [&](size_t k, Watch& watch) {
                for (size_t c; (c = next++) < states_.size();) {
                    ClassState& state = states_[c];
                    if (state.is_solved) continue;
                    const size_t j = state.class_number;
                    advance(state, penalty_of(j), problems_[k], watch);
                    if (state.is_solved) {
                        keep(c, j, problems_[k].space);
                    } else {
                        state.slot = n_slots++;  // the scores do not depend on the slot
                        unsolved_weights_.put(state.slot, j, problems_[k].space);
                    }
                }
            });
            if (n_slots == 0) return;
            find_violations(n_slots);
        }
    }

    // Solve for one C, then write the scores (rows, m) of documents into the columns of the
    // classes.
    void validate(double C, const Vector<int32_t>& rows, float* scores) {
        solved_weights_.resize(states_.size());
        solve([C](size_t) { return C; },
              [&](size_t c, size_t j, const FeatureSpace& space) {
                  solved_weights_.put(c, j, space);
              });
        solved_weights_.for_each_score(rows.data(), rows.size(), states_.size(),
                                       [&](size_t row, size_t first_slot, const Line& line) {
                                           const size_t n_slots = states_.size() - first_slot;
                                           float* target = scores + row * task_.n_classes();
                                           for (size_t j = 0; j < std::min(LANES, n_slots); ++j)
                                               target[states_[first_slot + j].class_number] =
                                                   line.values[j];
                                       });
    }

private:
    void begin(const size_t* classes, size_t n_classes) {
        states_.assign(n_classes, ClassState{});
        std::vector<uint8_t> is_positive(task_.n_docs());
        Watch watch;
        for (size_t c = 0; c < n_classes; ++c) {
            states_[c].class_number = classes[c];
            task_.flag(classes[c], is_positive, 1);
            for (size_t k = 0; k < rows_.size(); ++k)
                if (is_positive[size_t(rows_[k])]) states_[c].own.push_back(uint32_t(k));
            task_.flag(classes[c], is_positive, 0);
            watch.add_steps(rows_.size());
        }
        unsolved_weights_.resize(n_classes);
        violations_.resize((n_classes + LANES - 1) / LANES * LANES * n_words_);
    }

    // Do a round of passes over the violations, or over the first working set.
    void advance(ClassState& state, double C, Problem<FeatureSpace>& problem, Watch& watch) {
        const StoppingRule& stopping = task_.stopping;
        const bool is_first = state.n_rounds++ == 0, is_warm = !state.support.empty();
        if (std::max(state.support.size(), state.own.size()) > rows_.size() / MAX_SUPPORT_DIVISOR) {
            solve_all(state, C, problem, watch);
            return;
        }
        RowSet chosen(n_words_);
        if (!is_first)
            std::copy_n(violations_.data() + state.slot * n_words_, n_words_, chosen.data());
        else if (!is_warm)
            for (size_t k = 0; k < rows_.size(); k += SAMPLE_STRIDE) insert(chosen, k);
        for (const uint32_t row : state.own) insert(chosen, row);
        for (const uint32_t row : state.support) insert(chosen, row);
        take(state, chosen, problem, watch);
        if (is_first) state.next_tolerance = is_warm ? 1 : 0;
        const bool saw_all = state.tolerance <= *std::rbegin(TOLERANCES);  // in the last search
        state.tolerance = stopping.tolerance;
        if (state.next_tolerance < std::size(TOLERANCES))
            state.tolerance = std::max(state.tolerance, TOLERANCES[state.next_tolerance++]);
        const int limit = problem.passes_before_recheck(state.n_passes, stopping.max_passes);
        const Descent descent =
            problem.descend(C, state.tolerance, stopping.gap, true, limit - state.n_passes, watch);
        state.n_passes += descent.n_passes;
        keep_duals(state, problem);
        // no violation had to move, so the previous solution is the optimum
        const bool was_solved = !is_first && (descent.first_spread <= stopping.tolerance ||
                                              (saw_all && descent.was_close));
        state.is_solved = was_solved || state.n_passes >= stopping.max_passes;
        const auto n_duals = double(state.support.size());
        const bool has_large_support =
            n_duals > MIN_SHARE_OF_SUPPORT * double(problem.candidates.size());
        if (is_first && has_large_support && !state.is_solved) solve_all(state, C, problem, watch);
    }

    // Solve with all documents, because nearly all of them matter.
    void solve_all(ClassState& state, double C, Problem<FeatureSpace>& problem, Watch& watch) {
        take(state, RowSet(n_words_, ~uint64_t{0}), problem, watch);
        problem.solve(C, task_.stopping, watch);
        keep_duals(state, problem);
        state.is_solved = true;
    }

    // Start a problem with the chosen documents, which include all with positive dual variables.
    void take(const ClassState& state, const RowSet& chosen, Problem<FeatureSpace>& problem,
              Watch& watch) {
        problem.begin();
        size_t n_own = 0, n_duals = 0;
        for (size_t row = 0; row < rows_.size(); ++row) {
            const uint64_t remaining = chosen[row / BITS] >> (row % BITS);
            if (remaining == 0) row |= BITS - 1;
            if ((remaining & 1) == 0) continue;
            while (n_own < state.own.size() && state.own[n_own] < row) ++n_own;
            const bool is_own = n_own < state.own.size() && state.own[n_own] == row;
            Candidate candidate = task_.candidate(row, rows_[row], state.class_number, is_own);
            if (candidate.cost == 0) continue;  // such documents do not count
            if (n_duals < state.support.size() && state.support[n_duals] == row)
                candidate.dual = state.duals[n_duals++];
            problem.take(candidate);
            watch.add_steps(documents_.n_steps());
        }
    }

    static void keep_duals(ClassState& state, const Problem<FeatureSpace>& problem) {
        state.support.clear();
        state.duals.clear();
        for (const Candidate& candidate : problem.candidates) {
            if (candidate.dual == 0) continue;
            state.support.push_back(candidate.row);
            state.duals.push_back(candidate.dual);
        }
    }

    // Find the documents that violate the margin. The documents of the class are treated as others.
    void find_violations(size_t n_slots) {
        std::vector<Line> limits(n_slots / LANES + 1);
        for (const ClassState& state : states_)
            if (!state.is_solved)
                limits[state.slot / LANES].values[state.slot % LANES] =
                    float(MIN_VIOLATION_OF_TOLERANCE * state.tolerance - 1);
        std::fill(violations_.begin(), violations_.end(), uint64_t{0});
        unsolved_weights_.for_each_score(
            rows_.data(), rows_.size(), n_slots,
            [&](size_t row, size_t first_slot, const Line& line) {
                uint64_t* word = violations_.data() + first_slot * n_words_ + row / BITS;
                const Line& highest = limits[first_slot / LANES];
                for (size_t j = 0; j < LANES; ++j, word += n_words_) {
                    // NaN counts as a violation and is verified, too
                    const bool is_right = line.values[j] <= highest.values[j];
                    *word |= uint64_t{!is_right} << (row % BITS);
                }
            });
    }

    const Documents& documents_;
    const Task& task_;
    WeightTable unsolved_weights_, solved_weights_;
    size_t n_words_;
    std::vector<Problem<FeatureSpace>> problems_;  // one per thread
    std::vector<int32_t> rows_;                    // documents with a positive cost
    std::vector<ClassState> states_;
    std::vector<uint64_t> violations_;  // one bit per row, for one slot after the other
};

inline bool needs_working_sets(const Task& task) {
    return task.rows.size() >= MIN_DOCS_FOR_WORKING_SETS &&
           task.n_classes() >= MIN_CLASSES_FOR_WORKING_SETS;
}

}  // namespace solver

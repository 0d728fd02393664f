// Word vectors from several networks of words and contexts at once, as in PTE (Tang, Qu, Mei 2015).
//
// An edge joins a word and a context, which is another word, a document or a label. The vector c of
// a context should distinguish its words from others. Each step draws an edge by its weight and
// words as noise, and follows the gradient of
//     log s(u.c)  +  sum over noise  log s(-u'.c),     s(x) = 1 / (1 + exp(-x)).
// The networks take turns and share the vectors u of words. The k-th random number is a function of
// the seed and k alone, so plain Python can draw the same numbers.

#include <cmath>

#include "shared.h"

namespace pte {
namespace {

// --- draws ---------------------------------------------------------------------------------------

// Return the k-th number of the generator SplitMix64, from 0 to below 1 (Steele, Lea, Flood 2014).
double uniform(uint64_t seed, uint64_t k) {
    uint64_t bits = seed + (k + 1) * 0x9E3779B97F4A7C15;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
    return double((bits ^ (bits >> 31)) >> 11) * 0x1p-53;
}

// Draws numbers with given weights in constant time. Each of n equally likely cells holds at most
// two numbers (Walker 1977, constructed as in Vose 1991).
class AliasTable {
public:
    AliasTable(const double* weights, size_t n, Watch& watch) : cells_(n) {
        check(n > 0, "there are no weights to draw from");
        check(n < size_t(std::numeric_limits<int32_t>::max()), "there are 2^31 weights or more");
        double total = 0;
        for (size_t k = 0; k < n; ++k) {
            check(weights[k] >= 0, "a weight is negative");
            total += weights[k];
        }
        check(total > 0 && std::isfinite(total),
              "the sum of the weights is not a finite number above 0");
        std::vector<double> remaining(n);  // of each weight, 1 on average
        std::vector<int32_t> small, large;
        for (size_t k = 0; k < n; ++k) {
            remaining[k] = weights[k] * (double(n) / total);
            (remaining[k] < 1 ? small : large).push_back(int32_t(k));
            cells_[k] = {1, int32_t(k)};
        }
        watch.add_steps(4 * n);
        while (!small.empty() && !large.empty()) {
            const int32_t low = small.back(), high = large.back();
            small.pop_back();
            cells_[size_t(low)] = {float(remaining[size_t(low)]), high};
            remaining[size_t(high)] -= 1 - remaining[size_t(low)];
            if (remaining[size_t(high)] < 1) {
                large.pop_back();
                small.push_back(high);
            }
            watch.add_steps(8);
        }
    }
    size_t draw(double number) const {
        const double position = number * double(cells_.size());
        const auto k = size_t(position);
        const Cell& cell = cells_[k];
        return position - double(k) < double(cell.threshold) ? k : size_t(cell.other);
    }
    size_t size() const { return cells_.size(); }
    float threshold(size_t k) const { return cells_[k].threshold; }
    int32_t other(size_t k) const { return cells_[k].other; }

private:
    struct Cell {
        float threshold;  // the share of the cell for its own number
        int32_t other;    // the number that has the remaining share
    };
    std::vector<Cell, Allocator<Cell>> cells_;
};

nb::tuple alias_table(Vector<double> weights) {
    Output<float> thresholds(weights.size());
    Output<int32_t> others(weights.size());
    {
        nb::gil_scoped_release no_gil;
        Watch watch;
        const AliasTable table(weights.data(), weights.size(), watch);
        for (size_t k = 0; k < table.size(); ++k) {
            thresholds.data()[k] = table.threshold(k);
            others.data()[k] = table.other(k);
        }
    }
    return nb::make_tuple(thresholds.to_numpy(), others.to_numpy());
}

// --- vectors -------------------------------------------------------------------------------------

constexpr size_t LINE = 16;  // numbers in a cache line

// Vectors that start at cache lines and are padded with zeros.
class Rows {
public:
    explicit Rows(const Table<float>& table)
        : n_rows_(table.shape(0)),
          n_dims_(table.shape(1)),
          width_((n_dims_ + LINE - 1) / LINE * LINE),
          values_(product({n_rows_, width_})) {
        for (size_t row = 0; row < n_rows_; ++row)
            std::copy_n(table.data() + row * n_dims_, n_dims_, (*this)[row]);
    }
    Array<float> to_array() {
        Output<float> copy(n_rows_, n_dims_);
        for (size_t row = 0; row < n_rows_; ++row)
            std::copy_n((*this)[row], n_dims_, copy.data() + row * n_dims_);
        return copy.to_numpy();
    }
    float* operator[](size_t row) { return values_.data() + row * width_; }
    size_t n_rows() const { return n_rows_; }
    size_t n_dims() const { return n_dims_; }
    size_t width() const { return width_; }
    void prefetch_row(size_t row) const {
        for (size_t k = 0; k < width_; k += LINE) prefetch_early(values_.data() + row * width_ + k);
    }

private:
    size_t n_rows_, n_dims_, width_;
    std::vector<float, Allocator<float>> values_;
};

// Move the vector of a word so that its product with that of a context rises (label 1) or falls
// (label 0), and add the change of the context's vector to `change`.
SIMD_CLONES void update(float* __restrict word, const float* __restrict context,
                        float* __restrict change, size_t width, float label, float rate) {
    float sums[LINE] = {};
    for (size_t k = 0; k < width; k += LINE)
        for (size_t j = 0; j < LINE; ++j) sums[j] += word[k + j] * context[k + j];
    for (size_t half = LINE / 2; half > 0; half /= 2)
        for (size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
    const float slope = (label - 1 / (1 + std::exp(-sums[0]))) * rate;
    for (size_t k = 0; k < width; ++k) {
        const float before = word[k];
        word[k] = before + slope * context[k];
        change[k] += slope * before;
    }
}

// --- networks ------------------------------------------------------------------------------------

constexpr int64_t MAX_NEGATIVES = 1'000;
constexpr double MIN_RATE_SHARE = 1e-4;  // of the initial rate
constexpr uint64_t STEPS_PER_DRAW = 16;  // drawn at once, so that their vectors can be prefetched

struct Edge {
    int32_t word, context;
};

struct Network {
    std::vector<Edge, Allocator<Edge>> edges;
    AliasTable by_weight, noise;
};

// Vectors in training. Only one thread may use them at a time.
class Training {
public:
    // Edges are stored network after network. `noise` has a row of word weights per network.
    Training(Table<float> word_vectors, Table<float> context_vectors, Vector<int32_t> words,
             Vector<int32_t> contexts, Vector<double> weights, Vector<int64_t> ends,
             Table<double> noise, int64_t n_negatives, double rate, int64_t n_steps, uint64_t seed)
        : words_(word_vectors),
          contexts_(context_vectors),
          n_negatives_(size_t(n_negatives)),
          rate_(rate),
          n_steps_(uint64_t(n_steps)),
          seed_(seed) {
        check(words_.n_dims() > 0 && words_.n_dims() == contexts_.n_dims(),
              "the vectors of words and contexts have no dimensions or differ in their number");
        check(n_negatives >= 0 && n_negatives <= MAX_NEGATIVES,
              "the number of negatives is out of range; expected 0 to 1000");
        check(rate > 0 && std::isfinite(rate), "the rate is not a finite number above 0");
        check(n_steps >= 0, "the number of steps is negative");
        check(weights.size() == words.size(), "the numbers of weights and edges differ");
        check_csr(ends, words, words_.n_rows());
        check_csr(ends, contexts, contexts_.n_rows());
        check(ends.size() > 1, "there is no network; expected at least one");
        check(noise.shape(0) == ends.size() - 1 && noise.shape(1) == words_.n_rows(),
              "the noise has a wrong shape; expected a row per network and a column per word");
        nb::gil_scoped_release no_gil;
        Watch watch;
        for (size_t k = 0; k + 1 < ends.size(); ++k) {
            const auto first = size_t(ends.data()[k]), n = size_t(ends.data()[k + 1]) - first;
            networks_.push_back(
                {join_edges(words.data() + first, contexts.data() + first, n),
                 AliasTable(weights.data() + first, n, watch),
                 AliasTable(noise.data() + k * noise.shape(1), noise.shape(1), watch)});
        }
    }
    Training(const Training&) = delete;

    // Do further steps. If they are interrupted, the finished ones are kept.
    void run(int64_t n_steps) {
        const ExclusiveUse turn(is_in_use_);
        check(n_steps >= 0 && uint64_t(n_steps) <= n_steps_ - n_done_,
              "the number of steps exceeds the remaining ones");
        nb::gil_scoped_release no_gil;
        Watch watch;
        std::vector<float> change(contexts_.width());
        std::vector<size_t> drawn(STEPS_PER_DRAW * (2 + n_negatives_));
        const uint64_t end = n_done_ + uint64_t(n_steps);
        while (n_done_ < end) {
            const uint64_t n = std::min(STEPS_PER_DRAW, end - n_done_);
            for (uint64_t k = 0; k < n; ++k) draw(n_done_ + k, &drawn[k * (2 + n_negatives_)]);
            for (uint64_t k = 0; k < n; ++k, ++n_done_)
                step(&drawn[k * (2 + n_negatives_)], rate_at(n_done_), change.data());
            watch.add_steps(n * (1 + n_negatives_) * (words_.width() / 2 + 20));
        }
    }

    Array<float> word_vectors() {
        const ExclusiveUse turn(is_in_use_);
        return words_.to_array();
    }
    Array<float> context_vectors() {
        const ExclusiveUse turn(is_in_use_);
        return contexts_.to_array();
    }

private:
    static std::vector<Edge, Allocator<Edge>> join_edges(const int32_t* words,
                                                         const int32_t* contexts, size_t n) {
        std::vector<Edge, Allocator<Edge>> edges(n);
        for (size_t k = 0; k < n; ++k) edges[k] = {words[k], contexts[k]};
        return edges;
    }

    float rate_at(uint64_t step) const {
        return float(rate_ * std::max(1 - double(step) / double(n_steps_), MIN_RATE_SHARE));
    }

    // Draw the numbers of a step: the context and the word of an edge, and words as noise.
    void draw(uint64_t step, size_t* drawn) const {
        const Network& network = networks_[step % networks_.size()];
        uint64_t number = step * (1 + n_negatives_);
        const Edge edge = network.edges[network.by_weight.draw(uniform(seed_, number))];
        drawn[0] = size_t(edge.context);
        drawn[1] = size_t(edge.word);
        contexts_.prefetch_row(drawn[0]);
        words_.prefetch_row(drawn[1]);
        for (size_t k = 2; k < 2 + n_negatives_; ++k) {
            drawn[k] = network.noise.draw(uniform(seed_, ++number));
            words_.prefetch_row(drawn[k]);
        }
    }

    void step(const size_t* drawn, float rate, float* change) {
        float* context = contexts_[drawn[0]];
        std::fill_n(change, contexts_.width(), 0.0f);
        for (size_t k = 1; k < 2 + n_negatives_; ++k)
            update(words_[drawn[k]], context, change, contexts_.width(), k == 1 ? 1.0f : 0.0f,
                   rate);
        for (size_t j = 0; j < contexts_.width(); ++j) context[j] += change[j];
    }

    Rows words_, contexts_;
    size_t n_negatives_;
    double rate_;
    uint64_t n_steps_, n_done_ = 0, seed_;
    std::vector<Network> networks_;
    std::atomic<bool> is_in_use_{false};
};

}  // namespace

void bind(nb::module_ module) {
    module.def("alias_table", &alias_table);
    nb::class_<Training>(module, "Training")
        .def(nb::init<Table<float>, Table<float>, Vector<int32_t>, Vector<int32_t>, Vector<double>,
                      Vector<int64_t>, Table<double>, int64_t, double, int64_t, uint64_t>())
        .def("run", &Training::run)
        .def("word_vectors", &Training::word_vectors)
        .def("context_vectors", &Training::context_vectors);
}

}  // namespace pte

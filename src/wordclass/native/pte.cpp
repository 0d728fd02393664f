// Word vectors from several networks of words and contexts at once, as in PTE (Tang, Qu, Mei 2015).
//
// An edge joins a word and a context: another word, a document, a label. A context's vector c is to
// tell its words from others, so a step draws an edge by its weight, and further words as noise,
// and climbs up the gradient of
//     log s(u.c)  +  sum over noise  log s(-u'.c),     s(x) = 1 / (1 + exp(-x)),
// where the vectors u of words are those of all networks, which take turns. The k-th random number
// is a function of the seed and k alone, so plain Python can draw the same ones.

#include <cmath>

#include "shared.h"

namespace pte {
namespace {

// --- draws ---------------------------------------------------------------------------------------

// The k-th number, from 0 to below 1, of the generator SplitMix64 (Steele, Lea, Flood 2014).
double uniform(uint64_t seed, uint64_t k) {
    uint64_t bits = seed + (k + 1) * 0x9E3779B97F4A7C15;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
    return double((bits ^ (bits >> 31)) >> 11) * 0x1p-53;
}

// Draws numbers with given weights in constant time: each of n cells, which are drawn alike, holds
// at most two of them (Walker 1977; made as by Vose 1991).
class AliasTable {
public:
    AliasTable(const double* weights, size_t n, Watch& watch) : cells_(n) {
        check(n > 0, "there is nothing to draw from");
        check(n < size_t(std::numeric_limits<int32_t>::max()), "too many to draw from");
        double total = 0;
        for (size_t k = 0; k < n; ++k) {
            check(weights[k] >= 0, "a weight is less than 0");
            total += weights[k];
        }
        check(total > 0 && std::isfinite(total), "the weights must have a finite sum above 0");
        std::vector<double> left(n);  // of each weight, 1 on average
        std::vector<int32_t> small, large;
        for (size_t k = 0; k < n; ++k) {
            left[k] = weights[k] * (double(n) / total);
            (left[k] < 1 ? small : large).push_back(int32_t(k));
            cells_[k] = {1, int32_t(k)};
        }
        watch.add_steps(4 * n);
        while (!small.empty() && !large.empty()) {
            const int32_t low = small.back(), high = large.back();
            small.pop_back();
            cells_[size_t(low)] = {float(left[size_t(low)]), high};
            left[size_t(high)] -= 1 - left[size_t(low)];
            if (left[size_t(high)] < 1) {
                large.pop_back();
                small.push_back(high);
            }
            watch.add_steps(8);
        }
    }
    size_t draw(double number) const {
        const double place = number * double(cells_.size());
        const auto k = size_t(place);
        const Cell& cell = cells_[k];
        return place - double(k) < double(cell.threshold) ? k : size_t(cell.other);
    }
    size_t size() const { return cells_.size(); }
    float threshold(size_t k) const { return cells_[k].threshold; }
    int32_t other(size_t k) const { return cells_[k].other; }

private:
    struct Cell {
        float threshold;  // the share of the cell that its own number has
        int32_t other;    // and who has the rest
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

// Vectors of which each begins a new cache line, with zeros behind it.
class Rows {
public:
    explicit Rows(const Table<float>& given)
        : n_rows_(given.shape(0)),
          n_dims_(given.shape(1)),
          width_((n_dims_ + LINE - 1) / LINE * LINE),
          values_(product({n_rows_, width_})) {
        for (size_t row = 0; row < n_rows_; ++row)
            std::copy_n(given.data() + row * n_dims_, n_dims_, (*this)[row]);
    }
    Array<float> copied() {
        Output<float> made(n_rows_, n_dims_);
        for (size_t row = 0; row < n_rows_; ++row)
            std::copy_n((*this)[row], n_dims_, made.data() + row * n_dims_);
        return made.to_numpy();
    }
    float* operator[](size_t row) { return values_.data() + row * width_; }
    size_t n_rows() const { return n_rows_; }
    size_t n_dims() const { return n_dims_; }
    size_t width() const { return width_; }
    void expect(size_t row) const {
        for (size_t k = 0; k < width_; k += LINE) prefetch_early(values_.data() + row * width_ + k);
    }

private:
    size_t n_rows_, n_dims_, width_;
    std::vector<float, Allocator<float>> values_;
};

// Move a word's vector, so that its product with a context's is higher (label 1) or lower (0), and
// add up what is to be added to the context's.
SIMD_CLONES void move_apart(float* __restrict word, const float* __restrict context,
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

constexpr int64_t MOST_NEGATIVES = 1'000;
constexpr double LOWEST_RATE = 1e-4;     // of the rate at the start
constexpr uint64_t STEPS_TOGETHER = 16;  // are drawn before they are done, so that memory is ready

struct Edge {
    int32_t word, context;
};

struct Network {
    std::vector<Edge, Allocator<Edge>> edges;
    AliasTable by_weight, noise;
};

// Vectors that are being trained; one thread at a time.
class Training {
public:
    // Edges follow each other, network after network; `noise` has a row of weights of words for
    // each network.
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
              "expected vectors of one dimension or more, of all words and contexts alike");
        check(n_negatives >= 0 && n_negatives <= MOST_NEGATIVES, "expected 0 to 1000 negatives");
        check(rate > 0 && std::isfinite(rate), "expected a finite rate above 0");
        check(n_steps >= 0, "expected a number of steps");
        check(weights.size() == words.size(), "expected one weight per edge");
        check_csr(ends, words, words_.n_rows());
        check_csr(ends, contexts, contexts_.n_rows());
        check(ends.size() > 1, "expected one network or more");
        check(noise.shape(0) == ends.size() - 1 && noise.shape(1) == words_.n_rows(),
              "expected a weight of noise for every network and word");
        nb::gil_scoped_release no_gil;
        Watch watch;
        for (size_t k = 0; k + 1 < ends.size(); ++k) {
            const auto first = size_t(ends.data()[k]), n = size_t(ends.data()[k + 1]) - first;
            networks_.push_back(
                {edges_of(words.data() + first, contexts.data() + first, n),
                 AliasTable(weights.data() + first, n, watch),
                 AliasTable(noise.data() + k * noise.shape(1), noise.shape(1), watch)});
        }
    }
    Training(const Training&) = delete;

    // Do some more steps; when it is interrupted, those before have been done.
    void run(int64_t n_steps) {
        const ExclusiveUse turn(is_taken_);
        check(n_steps >= 0 && uint64_t(n_steps) <= n_steps_ - n_done_,
              "so many steps are not left");
        nb::gil_scoped_release no_gil;
        Watch watch;
        std::vector<float> change(contexts_.width());
        std::vector<size_t> drawn(STEPS_TOGETHER * (2 + n_negatives_));
        const uint64_t end = n_done_ + uint64_t(n_steps);
        while (n_done_ < end) {
            const uint64_t n = std::min(STEPS_TOGETHER, end - n_done_);
            for (uint64_t k = 0; k < n; ++k) draw(n_done_ + k, &drawn[k * (2 + n_negatives_)]);
            for (uint64_t k = 0; k < n; ++k, ++n_done_)
                step(&drawn[k * (2 + n_negatives_)], rate_of(n_done_), change.data());
            watch.add_steps(n * (1 + n_negatives_) * (words_.width() / 2 + 20));
        }
    }

    Array<float> word_vectors() {
        const ExclusiveUse turn(is_taken_);
        return words_.copied();
    }
    Array<float> context_vectors() {
        const ExclusiveUse turn(is_taken_);
        return contexts_.copied();
    }

private:
    static std::vector<Edge, Allocator<Edge>> edges_of(const int32_t* words,
                                                       const int32_t* contexts, size_t n) {
        std::vector<Edge, Allocator<Edge>> edges(n);
        for (size_t k = 0; k < n; ++k) edges[k] = {words[k], contexts[k]};
        return edges;
    }

    float rate_of(uint64_t step) const {
        return float(rate_ * std::max(1 - double(step) / double(n_steps_), LOWEST_RATE));
    }

    // Draw what a step needs: the context of an edge, its word, and words as noise.
    void draw(uint64_t step, size_t* drawn) const {
        const Network& network = networks_[step % networks_.size()];
        uint64_t number = step * (1 + n_negatives_);
        const Edge edge = network.edges[network.by_weight.draw(uniform(seed_, number))];
        drawn[0] = size_t(edge.context);
        drawn[1] = size_t(edge.word);
        contexts_.expect(drawn[0]);
        words_.expect(drawn[1]);
        for (size_t k = 2; k < 2 + n_negatives_; ++k) {
            drawn[k] = network.noise.draw(uniform(seed_, ++number));
            words_.expect(drawn[k]);
        }
    }

    void step(const size_t* drawn, float rate, float* change) {
        float* context = contexts_[drawn[0]];
        std::fill_n(change, contexts_.width(), 0.0f);
        for (size_t k = 1; k < 2 + n_negatives_; ++k)
            move_apart(words_[drawn[k]], context, change, contexts_.width(), k == 1 ? 1.0f : 0.0f,
                       rate);
        for (size_t j = 0; j < contexts_.width(); ++j) context[j] += change[j];
    }

    Rows words_, contexts_;
    size_t n_negatives_;
    double rate_;
    uint64_t n_steps_, n_done_ = 0, seed_;
    std::vector<Network> networks_;
    std::atomic<bool> is_taken_{false};
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

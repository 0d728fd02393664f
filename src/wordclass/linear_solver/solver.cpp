// Linear support vector machines with squared hinge loss, one class against the rest, by coordinate
// descent on the dual problem (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008).
//
// For one class, with y = +1 or -1 and costs c:   min over w   |w|^2 / 2  +  sum c max(0, 1 - y w.x)^2
// The documents are rows of a sparse matrix beside a dense block, and a constant 1 whose weight is
// the intercept. Classes share nothing but the documents, so they are shared out to threads, and
// the result does not depend on how many there are.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

namespace nb = nanobind;

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// ---------------------------------------------------------------------------------------------
// Documents
// ---------------------------------------------------------------------------------------------

struct Documents {
    const float* values;
    const int32_t* columns;
    const int64_t* starts;  // n + 1
    const float* block;     // n x n_block, dense
    size_t n_docs, n_columns, n_block;

    double dot(size_t doc, const double* sparse_weights, const double* block_weights) const {
        const int64_t end = starts[doc + 1];
        int64_t k = starts[doc];
        // four sums: an addition need not wait for the one before
        double a = 0, b = 0, c = 0, d = 0;
        for (; k + 4 <= end; k += 4) {
            a += values[k] * sparse_weights[columns[k]];
            b += values[k + 1] * sparse_weights[columns[k + 1]];
            c += values[k + 2] * sparse_weights[columns[k + 2]];
            d += values[k + 3] * sparse_weights[columns[k + 3]];
        }
        for (; k < end; ++k) a += values[k] * sparse_weights[columns[k]];
        const float* row = block + doc * n_block;
        size_t j = 0;
        for (; j + 4 <= n_block; j += 4) {
            a += row[j] * block_weights[j];
            b += row[j + 1] * block_weights[j + 1];
            c += row[j + 2] * block_weights[j + 2];
            d += row[j + 3] * block_weights[j + 3];
        }
        for (; j < n_block; ++j) a += row[j] * block_weights[j];
        return (a + b) + (c + d);
    }

    void add(size_t doc, double factor, double* sparse_weights, double* block_weights) const {
        for (int64_t k = starts[doc]; k < starts[doc + 1]; ++k)
            sparse_weights[columns[k]] += factor * values[k];
        const float* row = block + doc * n_block;
        for (size_t j = 0; j < n_block; ++j) block_weights[j] += factor * row[j];
    }

    double squared_length(size_t doc) const {
        double sum = 0;
        for (int64_t k = starts[doc]; k < starts[doc + 1]; ++k) sum += double(values[k]) * values[k];
        const float* row = block + doc * n_block;
        for (size_t j = 0; j < n_block; ++j) sum += double(row[j]) * row[j];
        return sum;
    }
};

Documents documents_of(Vector<float> values, Vector<int32_t> columns, Vector<int64_t> starts,
                       Table<float> block, size_t n_columns) {
    const size_t n_docs = starts.shape(0) - 1;
    if (block.shape(0) != n_docs) throw nb::value_error("the block has another number of rows");
    if (size_t(starts.data()[n_docs]) > values.shape(0) || values.shape(0) != columns.shape(0))
        throw nb::value_error("the parts of the sparse matrix do not fit each other");
    for (size_t k = 0; k < columns.shape(0); ++k)
        if (columns.data()[k] < 0 || size_t(columns.data()[k]) >= n_columns)
            throw nb::value_error("a column is out of range");
    return {values.data(), columns.data(), starts.data(), block.data(), n_docs, n_columns,
            block.shape(1)};
}

// ---------------------------------------------------------------------------------------------
// One class
// ---------------------------------------------------------------------------------------------

// a small generator of our own, so that every machine draws the same order
struct Random {
    uint64_t state;
    uint32_t below(uint32_t n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return uint32_t((uint64_t(uint32_t(state >> 16)) * n) >> 32);
    }
};

struct Precision {
    double tolerance;
    int max_passes;
};

// The solution of one class, which is the start for its next value of C.
class Problem {
  public:
    Problem(const Documents& documents, const std::vector<int32_t>& rows,
            const std::vector<double>& squared_lengths)
        : documents_(documents), rows_(rows), squared_lengths_(squared_lengths),
          weights_(documents.n_columns), block_weights_(documents.n_block),
          duals_(rows.size()), active_(rows.size()), signs_(rows.size()), costs_(rows.size()) {}

    // `is_positive` has a flag a document, `costs` the weight of each row's error
    template <typename Cost>
    void begin(const std::vector<uint8_t>& is_positive, Cost cost_of) {
        std::fill(weights_.begin(), weights_.end(), 0.0);
        std::fill(block_weights_.begin(), block_weights_.end(), 0.0);
        std::fill(duals_.begin(), duals_.end(), 0.0);
        intercept_ = 0;
        for (size_t k = 0; k < rows_.size(); ++k) {
            signs_[k] = is_positive[rows_[k]] ? 1.0 : -1.0;
            costs_[k] = cost_of(rows_[k], is_positive[rows_[k]] != 0);
        }
    }

    // Returns the number of passes; max_passes where it did not converge.
    int solve(double C, const Precision& precision) {
        Random random{0x9E3779B97F4A7C15ull};
        size_t n_active = 0;
        for (size_t k = 0; k < rows_.size(); ++k)
            if (costs_[k] > 0) active_[n_active++] = uint32_t(k);  // weight 0: as if not there
        const size_t n_all = n_active;
        const double infinity = std::numeric_limits<double>::infinity();
        double shrink_above = infinity;
        int n_passes = 0;
        while (n_passes < precision.max_passes) {
            double highest = -infinity, lowest = infinity;
            for (size_t s = 0; s < n_active; ++s)
                std::swap(active_[s], active_[s + random.below(uint32_t(n_active - s))]);
            for (size_t s = 0; s < n_active;) {
                const size_t k = active_[s];
                const size_t doc = size_t(rows_[k]);
                const double softness = 0.5 / (C * costs_[k]);
                const double margin =
                    signs_[k] *
                    (documents_.dot(doc, weights_.data(), block_weights_.data()) + intercept_);
                const double gradient = margin - 1 + duals_[k] * softness;
                double projected = gradient;
                if (duals_[k] == 0) {
                    if (gradient > shrink_above) {  // will stay at 0: not looked at for a while
                        std::swap(active_[s], active_[--n_active]);
                        continue;
                    }
                    projected = std::min(gradient, 0.0);
                }
                ++s;
                highest = std::max(highest, projected);
                lowest = std::min(lowest, projected);
                if (std::abs(projected) <= 1e-12) continue;
                const double before = duals_[k];
                duals_[k] = std::max(
                    before - gradient / (squared_lengths_[doc] + 1 + softness), 0.0);
                const double change = (duals_[k] - before) * signs_[k];
                documents_.add(doc, change, weights_.data(), block_weights_.data());
                intercept_ += change;
            }
            ++n_passes;
            if (highest - lowest <= precision.tolerance) {
                if (n_active == n_all) break;
                n_active = n_all;  // solved for the rest: look at all once more
                shrink_above = infinity;
            } else {
                shrink_above = highest > 0 ? highest : infinity;
            }
        }
        return n_passes;
    }

    double score(size_t doc) const {
        return documents_.dot(doc, weights_.data(), block_weights_.data()) + intercept_;
    }
    const std::vector<double>& weights() const { return weights_; }
    const std::vector<double>& block_weights() const { return block_weights_; }
    double intercept() const { return intercept_; }

  private:
    const Documents& documents_;
    const std::vector<int32_t>& rows_;
    const std::vector<double>& squared_lengths_;
    std::vector<double> weights_, block_weights_, duals_;
    std::vector<uint32_t> active_;
    std::vector<double> signs_, costs_;
    double intercept_ = 0;
};

// ---------------------------------------------------------------------------------------------
// All classes
// ---------------------------------------------------------------------------------------------

// The labels of all documents, class by class, and what an error costs.
struct Task {
    const int32_t* members;  // documents of class 0, of class 1, ...
    const int64_t* starts;   // m + 1
    const double* positive_cost;  // m
    const double* negative_cost;  // m
    const double* doc_cost;       // n
    size_t n_classes;
};

Task task_of(Vector<int32_t> members, Vector<int64_t> starts, Vector<double> positive_cost,
             Vector<double> negative_cost, Vector<double> doc_cost, size_t n_docs) {
    const size_t n_classes = starts.shape(0) - 1;
    if (positive_cost.shape(0) != n_classes || negative_cost.shape(0) != n_classes ||
        doc_cost.shape(0) != n_docs)
        throw nb::value_error("costs do not fit the classes and documents");
    for (size_t k = 0; k < members.shape(0); ++k)
        if (members.data()[k] < 0 || size_t(members.data()[k]) >= n_docs)
            throw nb::value_error("a document is out of range");
    return {members.data(), starts.data(), positive_cost.data(), negative_cost.data(),
            doc_cost.data(), n_classes};
}

std::vector<int32_t> rows_of(Vector<int32_t> rows, size_t n_docs) {
    std::vector<int32_t> chosen(rows.data(), rows.data() + rows.shape(0));
    for (int32_t row : chosen)
        if (row < 0 || size_t(row) >= n_docs) throw nb::value_error("a row is out of range");
    return chosen;
}

// Calls work(class, problem) for every class, begun with its labels; large classes first.
template <typename Work>
void for_every_class(const Documents& documents, const Task& task, const std::vector<int32_t>& rows,
                     int n_threads, Work work) {
    std::vector<double> squared_lengths(documents.n_docs);
    for (int32_t row : rows) squared_lengths[row] = documents.squared_length(row);
    std::vector<size_t> order(task.n_classes);
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return task.starts[a + 1] - task.starts[a] > task.starts[b + 1] - task.starts[b];
    });
    std::atomic<size_t> next{0};
    auto run = [&]() {
        Problem problem(documents, rows, squared_lengths);
        std::vector<uint8_t> is_positive(documents.n_docs);
        for (size_t place; (place = next++) < order.size();) {
            const size_t j = order[place];
            for (int64_t k = task.starts[j]; k < task.starts[j + 1]; ++k)
                is_positive[task.members[k]] = 1;
            problem.begin(is_positive, [&](int32_t doc, bool positive) {
                return task.doc_cost[doc] * (positive ? task.positive_cost : task.negative_cost)[j];
            });
            work(j, problem);
            for (int64_t k = task.starts[j]; k < task.starts[j + 1]; ++k)
                is_positive[task.members[k]] = 0;
        }
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < n_threads && size_t(t) < task.n_classes; ++t) threads.emplace_back(run);
    run();
    for (auto& thread : threads) thread.join();
}

template <typename T>
auto handed_over(std::vector<T>&& values, std::initializer_list<size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

// Weights of the sparse columns (v x m), then of the block (k x m), intercepts (m), passes (m).
auto solve(Vector<float> values, Vector<int32_t> columns, Vector<int64_t> starts,
           Table<float> block, size_t n_columns, Vector<int32_t> rows, Vector<int32_t> members,
           Vector<int64_t> class_starts, Vector<double> positive_cost,
           Vector<double> negative_cost, Vector<double> doc_cost, Vector<double> C,
           double tolerance, int max_passes, int n_threads) {
    const Documents documents = documents_of(values, columns, starts, block, n_columns);
    const Task task =
        task_of(members, class_starts, positive_cost, negative_cost, doc_cost, documents.n_docs);
    const std::vector<int32_t> chosen = rows_of(rows, documents.n_docs);
    if (C.shape(0) != task.n_classes) throw nb::value_error("expected one C a class");
    const size_t m = task.n_classes;
    std::vector<float> weights, block_weights, intercepts(m);
    std::vector<int32_t> passes(m);
    {
        nb::gil_scoped_release release;
        weights.resize(n_columns * m);
        block_weights.resize(documents.n_block * m);
        for_every_class(documents, task, chosen, n_threads, [&](size_t j, Problem& problem) {
            passes[j] = problem.solve(C.data()[j], {tolerance, max_passes});
            for (size_t t = 0; t < n_columns; ++t) weights[t * m + j] = float(problem.weights()[t]);
            for (size_t t = 0; t < documents.n_block; ++t)
                block_weights[t * m + j] = float(problem.block_weights()[t]);
            intercepts[j] = float(problem.intercept());
        });
    }
    return std::make_tuple(handed_over(std::move(weights), {n_columns, m}),
                           handed_over(std::move(block_weights), {documents.n_block, m}),
                           handed_over(std::move(intercepts), {m}),
                           handed_over(std::move(passes), {m}));
}

// Scores (number of C, test rows, m) of documents that were not learned from, for each C, each
// solution the start of the next. No weights are kept.
auto validate(Vector<float> values, Vector<int32_t> columns, Vector<int64_t> starts,
              Table<float> block, size_t n_columns, Vector<int32_t> rows,
              Vector<int32_t> test_rows, Vector<int32_t> members, Vector<int64_t> class_starts,
              Vector<double> positive_cost, Vector<double> negative_cost,
              Vector<double> doc_cost, Vector<double> C, double tolerance, int max_passes,
              int n_threads) {
    const Documents documents = documents_of(values, columns, starts, block, n_columns);
    const Task task =
        task_of(members, class_starts, positive_cost, negative_cost, doc_cost, documents.n_docs);
    const std::vector<int32_t> chosen = rows_of(rows, documents.n_docs);
    const std::vector<int32_t> tested = rows_of(test_rows, documents.n_docs);
    const size_t m = task.n_classes, n_values = C.shape(0);
    std::vector<float> scores;
    {
        nb::gil_scoped_release release;
        scores.resize(n_values * tested.size() * m);
        for_every_class(documents, task, chosen, n_threads, [&](size_t j, Problem& problem) {
            for (size_t c = 0; c < n_values; ++c) {
                problem.solve(C.data()[c], {tolerance, max_passes});
                float* into = scores.data() + c * tested.size() * m + j;
                for (size_t k = 0; k < tested.size(); ++k)
                    into[k * m] = float(problem.score(size_t(tested[k])));
            }
        });
    }
    return handed_over(std::move(scores), {n_values, tested.size(), m});
}

// ---------------------------------------------------------------------------------------------
// Prediction
// ---------------------------------------------------------------------------------------------

// X W + intercept (n x m). A row of the result depends on its row of X alone.
auto multiply(Vector<double> values, Vector<int32_t> columns, Vector<int64_t> starts,
              Table<float> weights, Vector<float> intercept, int n_threads) {
    const size_t n_docs = starts.shape(0) - 1, m = weights.shape(1);
    if (intercept.shape(0) != m) throw nb::value_error("expected one intercept a class");
    if (size_t(starts.data()[n_docs]) > values.shape(0) || values.shape(0) != columns.shape(0))
        throw nb::value_error("the parts of the sparse matrix do not fit each other");
    for (size_t k = 0; k < columns.shape(0); ++k)
        if (columns.data()[k] < 0 || size_t(columns.data()[k]) >= weights.shape(0))
            throw nb::value_error("a column is out of range");
    std::vector<float> product;
    {
        nb::gil_scoped_release release;
        product.resize(n_docs * m);
        std::atomic<size_t> next{0};
        constexpr size_t kTogether = 64;
        auto run = [&]() {
            for (size_t first; (first = next.fetch_add(kTogether)) < n_docs;) {
                for (size_t doc = first; doc < std::min(first + kTogether, n_docs); ++doc) {
                    float* __restrict row = product.data() + doc * m;
                    std::copy_n(intercept.data(), m, row);
                    for (int64_t k = starts.data()[doc]; k < starts.data()[doc + 1]; ++k) {
                        const float value = float(values.data()[k]);
                        const float* __restrict weight =
                            weights.data() + size_t(columns.data()[k]) * m;
                        for (size_t j = 0; j < m; ++j) row[j] += value * weight[j];
                    }
                }
            }
        };
        std::vector<std::thread> threads;
        for (int t = 1; t < n_threads; ++t) threads.emplace_back(run);
        run();
        for (auto& thread : threads) thread.join();
    }
    return handed_over(std::move(product), {n_docs, m});
}

}  // namespace

NB_MODULE(_solver, module) {
    module.def("solve", &solve);
    module.def("validate", &validate);
    module.def("multiply", &multiply);
}

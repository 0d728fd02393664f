// Linear support vector machines with squared hinge loss, one class against the rest, by coordinate
// descent on the dual problem (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008).
//
// For one class, with y = +1 or -1 and costs c:   min over w   |w|^2 / 2  +  sum c max(0, 1 - y w.x)^2
// A document is a row of a sparse matrix, a row of a dense block, one number for each class that
// only this class's problem sees ("own"), and a constant 1 whose weight is the intercept. Classes
// share nothing but the documents, so they are shared out to threads, and the result does not
// depend on how many there are.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <thread>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include "shared.h"

namespace solver {
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
    std::vector<double> squared_lengths;  // n
    std::tuple<Vector<float>, Vector<int32_t>, Vector<int64_t>, Table<float>> owners;

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
    Documents documents{values.data(), columns.data(),  starts.data(), block.data(),
                        n_docs,        n_columns,       block.shape(1), {},
                        {values, columns, starts, block}};
    documents.squared_lengths.resize(n_docs);
    for (size_t doc = 0; doc < n_docs; ++doc)
        documents.squared_lengths[doc] = documents.squared_length(doc);
    return documents;
}

// The features of one class alone: a column of the table of own features, or nothing.
class OwnColumn {
  public:
    OwnColumn(const float* table, size_t n_docs, size_t n_classes)
        : table_(table), n_classes_(n_classes), values_(table ? n_docs : 0) {}

    void choose(size_t class_number) {
        for (size_t doc = 0; doc < values_.size(); ++doc)
            values_[doc] = table_[doc * n_classes_ + class_number];
        weight = 0;
    }
    double value(size_t doc) const { return table_ ? values_[doc] : 0.0; }

    double weight = 0;

  private:
    const float* table_;
    size_t n_classes_;
    std::vector<float> values_;
};

// ---------------------------------------------------------------------------------------------
// Two ways to hold a solution
// ---------------------------------------------------------------------------------------------

// As weights of features: a look at a document costs its features.
class FeatureSpace {
  public:
    FeatureSpace(const Documents& documents, OwnColumn own)
        : documents_(documents), own_(std::move(own)), weights_(documents.n_columns),
          block_weights_(documents.n_block) {}

    void begin(size_t class_number) {
        std::fill(weights_.begin(), weights_.end(), 0.0);
        std::fill(block_weights_.begin(), block_weights_.end(), 0.0);
        intercept_ = 0;
        own_.choose(class_number);
    }
    double score(size_t doc) const {
        return documents_.dot(doc, weights_.data(), block_weights_.data()) +
               own_.weight * own_.value(doc) + intercept_;
    }
    void add(size_t doc, double change) {
        documents_.add(doc, change, weights_.data(), block_weights_.data());
        own_.weight += change * own_.value(doc);
        intercept_ += change;
    }
    double squared_length(size_t doc) const {
        return documents_.squared_lengths[doc] + own_.value(doc) * own_.value(doc) + 1;
    }
    const std::vector<double>& weights() const { return weights_; }
    const std::vector<double>& block_weights() const { return block_weights_; }
    double own_weight() const { return own_.weight; }
    double intercept() const { return intercept_; }

  private:
    const Documents& documents_;
    OwnColumn own_;
    std::vector<double> weights_, block_weights_;
    double intercept_ = 0;
};

// As the scores of all documents, from their n x n inner products: a look at a document costs
// nothing, a change costs n steps side by side. For few documents with many features.
class DocumentSpace {
  public:
    DocumentSpace(const float* products, size_t n_docs, OwnColumn own)
        : products_(products), own_(std::move(own)), scores_(n_docs) {}

    void begin(size_t class_number) {
        std::fill(scores_.begin(), scores_.end(), 0.0);
        intercept_ = 0;
        own_.choose(class_number);
    }
    double score(size_t doc) const {
        return scores_[doc] + own_.weight * own_.value(doc) + intercept_;
    }
    void add(size_t doc, double change) {
        const float* row = products_ + doc * scores_.size();
        for (size_t other = 0; other < scores_.size(); ++other)
            scores_[other] += change * row[other];
        own_.weight += change * own_.value(doc);
        intercept_ += change;
    }
    double squared_length(size_t doc) const {
        return products_[doc * scores_.size() + doc] + own_.value(doc) * own_.value(doc) + 1;
    }
    double own_weight() const { return own_.weight; }
    double intercept() const { return intercept_; }

  private:
    const float* products_;
    OwnColumn own_;
    std::vector<double> scores_;
    double intercept_ = 0;
};

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

constexpr int kLastPasses = 20;  // before giving up, over documents not looked at for a while too

// The problem of one class after the other; a solution is the start for the next value of C.
template <typename Space>
class Problem {
  public:
    Problem(Space space, const std::vector<int32_t>& rows)
        : space(std::move(space)), rows_(rows), duals_(rows.size()), signs_(rows.size()),
          costs_(rows.size()), active_(rows.size()) {}

    // `is_positive` has a flag a document; `cost_of` gives the weight of a document's error
    template <typename Cost>
    void begin(size_t class_number, const std::vector<uint8_t>& is_positive, Cost cost_of) {
        space.begin(class_number);
        std::fill(duals_.begin(), duals_.end(), 0.0);
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
                const double gradient =
                    signs_[k] * space.score(doc) - 1 + duals_[k] * softness;
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
                duals_[k] =
                    std::max(before - gradient / (space.squared_length(doc) + softness), 0.0);
                space.add(doc, (duals_[k] - before) * signs_[k]);
            }
            ++n_passes;
            const bool is_solved = highest - lowest <= precision.tolerance;
            if (is_solved && n_active == n_all) break;
            if (is_solved || n_passes == precision.max_passes - kLastPasses) {
                n_active = n_all;  // solved for the rest, or time is up: look at all once more
                shrink_above = infinity;
            } else {
                shrink_above = highest > 0 ? highest : infinity;
            }
        }
        return n_passes;
    }

    // what row k adds to the weights: its dual variable, with the sign of its side
    double coefficient(size_t k) const { return duals_[k] * signs_[k]; }

    Space space;

  private:
    const std::vector<int32_t>& rows_;
    std::vector<double> duals_, signs_, costs_;
    std::vector<uint32_t> active_;
};

// ---------------------------------------------------------------------------------------------
// All classes
// ---------------------------------------------------------------------------------------------

// The labels of all documents, class by class, what an error costs, and the values of C.
struct Task {
    Vector<int32_t> members;  // documents of class 0, of class 1, ...
    Vector<int64_t> starts;   // m + 1
    Vector<double> positive_cost, negative_cost;  // m
    Vector<double> doc_cost;                      // n
    Table<float> own;                             // n x m, or n x 0
    Vector<int32_t> rows;                         // to learn from
    Vector<double> C;
    Precision precision;
    int n_threads;

    size_t n_classes() const { return starts.shape(0) - 1; }
    size_t n_docs() const { return doc_cost.shape(0); }
    OwnColumn own_column() const {
        return {own.shape(1) ? own.data() : nullptr, n_docs(), n_classes()};
    }
};

void check_rows(Vector<int32_t> rows, size_t n_docs) {
    for (size_t k = 0; k < rows.shape(0); ++k)
        if (rows.data()[k] < 0 || size_t(rows.data()[k]) >= n_docs)
            throw nb::value_error("a document is out of range");
}

Task task_of(Vector<int32_t> members, Vector<int64_t> starts, Vector<double> positive_cost,
             Vector<double> negative_cost, Vector<double> doc_cost, Table<float> own,
             Vector<int32_t> rows, Vector<double> C, double tolerance, int max_passes,
             int n_threads) {
    const Task task{members, starts, positive_cost, negative_cost, doc_cost, own,
                    rows,    C,      {tolerance, max_passes},       n_threads};
    const size_t n_classes = task.n_classes();
    if (positive_cost.shape(0) != n_classes || negative_cost.shape(0) != n_classes)
        throw nb::value_error("expected one cost a class");
    if (own.shape(0) != task.n_docs() || (own.shape(1) && own.shape(1) != n_classes))
        throw nb::value_error("own features need a row a document and a column a class");
    check_rows(members, task.n_docs());
    check_rows(rows, task.n_docs());
    return task;
}

// Calls work(class, problem) for every class, begun with its labels; large classes first.
template <typename MakeSpace, typename Work>
void for_every_class(const Task& task, MakeSpace make_space, Work work) {
    const int64_t* starts = task.starts.data();
    const std::vector<int32_t> rows(task.rows.data(), task.rows.data() + task.rows.shape(0));
    std::vector<size_t> order(task.n_classes());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return starts[a + 1] - starts[a] > starts[b + 1] - starts[b];
    });
    std::atomic<size_t> next{0};
    auto run = [&]() {
        Problem problem(make_space(), rows);
        std::vector<uint8_t> is_positive(task.n_docs());
        for (size_t place; (place = next++) < order.size();) {
            const size_t j = order[place];
            const int32_t* members = task.members.data();
            for (int64_t k = starts[j]; k < starts[j + 1]; ++k) is_positive[members[k]] = 1;
            const double positive_cost = task.positive_cost.data()[j];
            const double negative_cost = task.negative_cost.data()[j];
            problem.begin(j, is_positive, [&](int32_t doc, bool positive) {
                return task.doc_cost.data()[doc] * (positive ? positive_cost : negative_cost);
            });
            work(j, problem);
            for (int64_t k = starts[j]; k < starts[j + 1]; ++k) is_positive[members[k]] = 0;
        }
    };
    std::vector<std::thread> threads;
    for (int t = 1; t < task.n_threads && size_t(t) < task.n_classes(); ++t)
        threads.emplace_back(run);
    run();
    for (auto& thread : threads) thread.join();
}

template <typename T>
auto handed_over(std::vector<T>&& values, std::initializer_list<size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

// What every solution has: own weights (m), intercepts (m), passes (m).
struct Ends {
    explicit Ends(size_t m) : own_weights(m), intercepts(m), passes(m) {}
    std::vector<float> own_weights, intercepts;
    std::vector<int32_t> passes;

    template <typename Space>
    void take(size_t j, const Space& space, int n_passes) {
        own_weights[j] = float(space.own_weight());
        intercepts[j] = float(space.intercept());
        passes[j] = n_passes;
    }
};

// Weights of the sparse columns (v x m) and of the block (k x m), then the ends.
auto solve(const Documents& documents, const Task& task) {
    const size_t m = task.n_classes(), v = documents.n_columns, n_block = documents.n_block;
    if (task.C.shape(0) != m) throw nb::value_error("expected one C a class");
    std::vector<float> weights, block_weights;
    Ends ends(m);
    {
        nb::gil_scoped_release release;
        weights.resize(v * m);
        block_weights.resize(n_block * m);
        for_every_class(
            task, [&]() { return FeatureSpace(documents, task.own_column()); },
            [&](size_t j, Problem<FeatureSpace>& problem) {
                const int n_passes = problem.solve(task.C.data()[j], task.precision);
                ends.take(j, problem.space, n_passes);
                for (size_t t = 0; t < v; ++t)
                    weights[t * m + j] = float(problem.space.weights()[t]);
                for (size_t t = 0; t < n_block; ++t)
                    block_weights[t * m + j] = float(problem.space.block_weights()[t]);
            });
    }
    return std::make_tuple(handed_over(std::move(weights), {v, m}),
                           handed_over(std::move(block_weights), {n_block, m}),
                           handed_over(std::move(ends.own_weights), {m}),
                           handed_over(std::move(ends.intercepts), {m}),
                           handed_over(std::move(ends.passes), {m}));
}

// Coefficients of the documents (n x m), whose sums they are the weights, then the ends.
auto solve_products(Table<float> products, const Task& task) {
    const size_t m = task.n_classes(), n = task.n_docs();
    if (products.shape(0) != n || products.shape(1) != n)
        throw nb::value_error("expected the products of all documents");
    if (task.C.shape(0) != m) throw nb::value_error("expected one C a class");
    std::vector<float> coefficients;
    Ends ends(m);
    {
        nb::gil_scoped_release release;
        coefficients.resize(n * m);
        for_every_class(
            task, [&]() { return DocumentSpace(products.data(), n, task.own_column()); },
            [&](size_t j, Problem<DocumentSpace>& problem) {
                const int n_passes = problem.solve(task.C.data()[j], task.precision);
                ends.take(j, problem.space, n_passes);
                for (size_t k = 0; k < task.rows.shape(0); ++k)
                    coefficients[size_t(task.rows.data()[k]) * m + j] =
                        float(problem.coefficient(k));
            });
    }
    return std::make_tuple(handed_over(std::move(coefficients), {n, m}),
                           handed_over(std::move(ends.own_weights), {m}),
                           handed_over(std::move(ends.intercepts), {m}),
                           handed_over(std::move(ends.passes), {m}));
}

// Scores (number of C, test rows, m) of documents that were not learned from, for each C, each
// solution the start of the next. No weights are kept.
template <typename MakeSpace>
auto validated(const Task& task, Vector<int32_t> test_rows, MakeSpace make_space) {
    check_rows(test_rows, task.n_docs());
    const size_t m = task.n_classes(), n_values = task.C.shape(0), n_tests = test_rows.shape(0);
    std::vector<float> scores;
    {
        nb::gil_scoped_release release;
        scores.resize(n_values * n_tests * m);
        for_every_class(task, make_space, [&](size_t j, auto& problem) {
            for (size_t c = 0; c < n_values; ++c) {
                problem.solve(task.C.data()[c], task.precision);
                float* into = scores.data() + c * n_tests * m + j;
                for (size_t k = 0; k < n_tests; ++k)
                    into[k * m] = float(problem.space.score(size_t(test_rows.data()[k])));
            }
        });
    }
    return handed_over(std::move(scores), {n_values, n_tests, m});
}

auto validate(const Documents& documents, const Task& task, Vector<int32_t> test_rows) {
    return validated(task, test_rows,
                     [&]() { return FeatureSpace(documents, task.own_column()); });
}

auto validate_products(Table<float> products, const Task& task, Vector<int32_t> test_rows) {
    if (products.shape(0) != task.n_docs() || products.shape(1) != task.n_docs())
        throw nb::value_error("expected the products of all documents");
    return validated(task, test_rows, [&]() {
        return DocumentSpace(products.data(), task.n_docs(), task.own_column());
    });
}

// ---------------------------------------------------------------------------------------------
// Prediction
// ---------------------------------------------------------------------------------------------

constexpr int64_t kAhead = 2;

// Begin to load `n` numbers, where the compiler knows how.
inline void fetch([[maybe_unused]] const float* numbers, [[maybe_unused]] size_t n) {
#if defined(__GNUC__)
    for (size_t k = 0; k < n; k += 16) __builtin_prefetch(numbers + k);
#endif
}

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
                    const int64_t end = starts.data()[doc + 1];
                    for (int64_t k = starts.data()[doc]; k < end; ++k) {
                        const float value = float(values.data()[k]);
                        const float* __restrict weight =
                            weights.data() + size_t(columns.data()[k]) * m;
                        // the rows are anywhere in a large table: ask for the next ones early
                        if (k + kAhead < end)
                            fetch(weights.data() + size_t(columns.data()[k + kAhead]) * m, m);
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

void bind(nb::module_& module) {
    nb::class_<Documents>(module, "Documents");
    module.def("documents", &documents_of);
    nb::class_<Task>(module, "Task");
    module.def("task", &task_of);
    module.def("solve", &solve);
    module.def("solve_products", &solve_products);
    module.def("validate", &validate);
    module.def("validate_products", &validate_products);
    module.def("multiply", &multiply);
}

}  // namespace solver

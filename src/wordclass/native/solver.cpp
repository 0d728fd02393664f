// Linear support vector machines with squared hinge loss, one class against the rest, by coordinate
// descent on the dual problem (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008).
//
// For one class, with y = +1 or -1 and costs c:   min over w   |w|^2 / 2  +  sum c max(0, 1 - y
// w.x)^2 A document is a row of a sparse matrix, a row of a dense block, one number for each class
// that only this class's problem sees ("own"), and a constant 1 whose weight is the intercept.
// Classes share nothing but the documents, so they are shared out to threads, and the result does
// not depend on how many there are.

#include <cmath>
#include <numeric>
#include <tuple>

#include "shared.h"

namespace solver {
namespace {

// --- documents -----------------------------------------------------------------------------------

struct Documents {
    const float* values;
    const int32_t* columns;
    const int64_t* starts;  // n + 1
    const float* block;     // n x n_block, dense
    size_t n_docs, n_columns, n_block;
    std::tuple<Vector<float>, Vector<int32_t>, Vector<int64_t>, Table<float>> owners;
    std::vector<double> squared_lengths;  // n

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
        for (int64_t k = starts[doc]; k < starts[doc + 1]; ++k)
            sum += double(values[k]) * values[k];
        const float* row = block + doc * n_block;
        for (size_t j = 0; j < n_block; ++j) sum += double(row[j]) * row[j];
        return sum;
    }
};

Documents documents_of(Vector<float> values, Vector<int32_t> columns, Vector<int64_t> starts,
                       Table<float> block, size_t n_columns) {
    check_csr(starts, columns, n_columns);
    const size_t n_docs = starts.size() - 1;
    check(values.size() == columns.size(), "expected one value per column index");
    check(block.shape(0) == n_docs, "the block has another number of rows");
    const auto owners = std::make_tuple(values, columns, starts, block);
    Documents documents{values.data(),  columns.data(), starts.data(),
                        block.data(),   n_docs,         n_columns,
                        block.shape(1), owners,         std::vector<double>(n_docs)};
    for (size_t doc = 0; doc < n_docs; ++doc) {
        documents.squared_lengths[doc] = documents.squared_length(doc);
        check(std::isfinite(documents.squared_lengths[doc]), "a feature is not finite");
    }
    return documents;
}

// The features of one class alone: a column of the table of own features, or nothing.
class OwnColumn {
public:
    OwnColumn(const float* table, size_t n_docs, size_t n_classes)
        : table_(table),
          n_classes_(n_classes),
          values_(table ? n_docs : 0) {}

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

// --- two ways to hold a solution -----------------------------------------------------------------

// As weights of features: a look at a document costs its features.
class FeatureSpace {
public:
    FeatureSpace(const Documents& documents, OwnColumn own)
        : documents_(documents),
          own_(std::move(own)),
          weights_(documents.n_columns),
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
    // The steps that a look at a document takes, on average.
    size_t n_steps() const {
        return 8 + documents_.n_block +
               size_t(documents_.starts[documents_.n_docs]) /
                   std::max<size_t>(documents_.n_docs, 1);
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
        : products_(products),
          own_(std::move(own)),
          scores_(n_docs) {}

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
    size_t n_steps() const { return 8 + scores_.size() / 8; }
    double own_weight() const { return own_.weight; }
    double intercept() const { return intercept_; }

private:
    const float* products_;
    OwnColumn own_;
    std::vector<double> scores_;
    double intercept_ = 0;
};

// --- one class -----------------------------------------------------------------------------------

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

constexpr size_t MAX_DOCS = size_t{1} << 31;
constexpr int LAST_PASSES = 20;  // before giving up, over documents not looked at for a while too

// The problem of one class after the other; a solution is the start for the next value of C.
template <typename Space>
class Problem {
public:
    Problem(Space space, const std::vector<int32_t>& rows)
        : space(std::move(space)),
          rows_(rows),
          duals_(rows.size()),
          signs_(rows.size()),
          costs_(rows.size()),
          active_(rows.size()) {}

    // `is_positive` has one flag per document; `cost_of` gives the weight of a document's error
    template <typename Cost>
    void begin(size_t class_number, const std::vector<uint8_t>& is_positive, Cost cost_of) {
        space.begin(class_number);
        std::fill(duals_.begin(), duals_.end(), 0.0);
        for (size_t k = 0; k < rows_.size(); ++k) {
            signs_[k] = is_positive[rows_[k]] ? 1.0 : -1.0;
            costs_[k] = cost_of(rows_[k], is_positive[rows_[k]] != 0);
        }
    }

    void solve(double C, const Precision& precision, Watch& watch) {
        const size_t n_steps = space.n_steps();
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
            size_t n_looks = 0;
            for (size_t s = 0; s < n_active;) {
                if ((++n_looks & 63) == 0) watch.did(64 * n_steps);  // seldom: this loop is hot
                const size_t k = active_[s];
                const size_t doc = size_t(rows_[k]);
                const double softness = 0.5 / (C * costs_[k]);
                const double gradient = signs_[k] * space.score(doc) - 1 + duals_[k] * softness;
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
            // it takes in every change, so that nothing that is no number escapes it
            check(std::isfinite(space.intercept()), "a feature or a cost is not finite");
            const bool is_solved = highest - lowest <= precision.tolerance;
            if (is_solved && n_active == n_all) break;
            if (is_solved || n_passes == precision.max_passes - LAST_PASSES) {
                n_active = n_all;  // solved for the rest, or time is up: look at all once more
                shrink_above = infinity;
            } else {
                shrink_above = highest > 0 ? highest : infinity;
            }
        }
    }

    // what row k adds to the weights: its dual variable, with the sign of its side
    double coefficient(size_t k) const { return duals_[k] * signs_[k]; }

    Space space;

private:
    const std::vector<int32_t>& rows_;
    std::vector<double> duals_, signs_, costs_;
    std::vector<uint32_t> active_;
};

// --- all classes ---------------------------------------------------------------------------------

// The labels of all documents, class by class, what an error costs, and the values of C.
struct Task {
    Vector<int32_t> members;                      // documents of class 0, of class 1, ...
    Vector<int64_t> starts;                       // m + 1
    Vector<double> positive_cost, negative_cost;  // m
    Vector<double> doc_cost;                      // n
    Table<float> own;                             // n x m, or n x 0
    Vector<int32_t> rows;                         // to learn from
    Vector<double> C;
    Precision precision;
    size_t n_threads;

    size_t n_classes() const { return starts.size() - 1; }
    size_t n_docs() const { return doc_cost.size(); }
    OwnColumn own_column() const {
        return {own.shape(1) ? own.data() : nullptr, n_docs(), n_classes()};
    }
};

bool are_costs(const Vector<double>& costs) {
    return std::all_of(costs.data(), costs.data() + costs.size(),
                       [](double cost) { return cost >= 0 && std::isfinite(cost); });
}

Task task_of(Vector<int32_t> members, Vector<int64_t> starts, Vector<double> positive_cost,
             Vector<double> negative_cost, Vector<double> doc_cost, Table<float> own,
             Vector<int32_t> rows, Vector<double> C, double tolerance, int max_passes,
             int64_t n_threads) {
    const size_t n_docs = doc_cost.size();
    check(n_docs < MAX_DOCS && rows.size() < MAX_DOCS, "too many documents");
    check_csr(starts, members, n_docs);
    const size_t n_classes = starts.size() - 1;
    check(positive_cost.size() == n_classes && negative_cost.size() == n_classes,
          "expected one cost per class");
    check(are_costs(positive_cost) && are_costs(negative_cost) && are_costs(doc_cost),
          "expected costs of 0 or more");
    check(are_costs(C) && std::find(C.data(), C.data() + C.size(), 0.0) == C.data() + C.size(),
          "expected values of C above 0");
    check(own.shape(0) == n_docs && (own.shape(1) == 0 || own.shape(1) == n_classes),
          "own features need one row per document and one column per class");
    check(tolerance >= 0 && max_passes >= 0, "expected a tolerance and passes of 0 or more");
    check_indices(rows, n_docs);
    const Precision precision{tolerance, max_passes};
    const size_t n_used = checked_threads(n_threads, n_classes);
    return {members, starts, positive_cost, negative_cost, doc_cost, own,
            rows,    C,      precision,     n_used};
}

// Calls work(class, problem, watch) for every class, begun with its labels; large classes first.
template <typename MakeSpace, typename Work>
void for_every_class(const Task& task, MakeSpace make_space, Work work) {
    const int64_t* starts = task.starts.data();
    const std::vector<int32_t> rows(task.rows.data(), task.rows.data() + task.rows.size());
    std::vector<size_t> order(task.n_classes());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return starts[a + 1] - starts[a] > starts[b + 1] - starts[b];
    });
    std::atomic<size_t> next{0};
    in_threads(task.n_threads, [&](size_t, Watch& watch) {
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
            work(j, problem, watch);
            for (int64_t k = starts[j]; k < starts[j + 1]; ++k) is_positive[members[k]] = 0;
        }
    });
}

// What every solution has: own weights (m) and intercepts (m).
struct Ends {
    explicit Ends(size_t m) : own_weights(m), intercepts(m) {}
    Output<float> own_weights, intercepts;

    template <typename Space>
    void take(size_t j, const Space& space) {
        own_weights.data()[j] = float(space.own_weight());
        intercepts.data()[j] = float(space.intercept());
    }
};

// Weights of the sparse columns (v x m) and of the block (k x m), then the ends.
nb::tuple solve(const Documents& documents, const Task& task) {
    const size_t m = task.n_classes(), v = documents.n_columns, n_block = documents.n_block;
    check(documents.n_docs == task.n_docs(), "the task is about other documents");
    check(task.C.size() == m, "expected one C per class");
    Output<float> weights(v, m), block_weights(n_block, m);
    Ends ends(m);
    {
        nb::gil_scoped_release no_gil;
        for_every_class(
            task, [&]() { return FeatureSpace(documents, task.own_column()); },
            [&](size_t j, Problem<FeatureSpace>& problem, Watch& watch) {
                problem.solve(task.C.data()[j], task.precision, watch);
                ends.take(j, problem.space);
                for (size_t t = 0; t < v; ++t)
                    weights.data()[t * m + j] = float(problem.space.weights()[t]);
                for (size_t t = 0; t < n_block; ++t)
                    block_weights.data()[t * m + j] = float(problem.space.block_weights()[t]);
            });
    }
    return nb::make_tuple(weights.handed_over(), block_weights.handed_over(),
                          ends.own_weights.handed_over(), ends.intercepts.handed_over());
}

void check_products(const Table<float>& products, const Task& task) {
    check(products.shape(0) == task.n_docs() && products.shape(1) == task.n_docs(),
          "expected the products of all documents");
}

// Coefficients of the documents (n x m), whose sums they are the weights, then the ends.
nb::tuple solve_products(Table<float> products, const Task& task) {
    const size_t m = task.n_classes(), n = task.n_docs();
    check_products(products, task);
    check(task.C.size() == m, "expected one C per class");
    Output<float> coefficients(n, m);
    Ends ends(m);
    {
        nb::gil_scoped_release no_gil;
        std::fill_n(coefficients.data(), n * m, 0.0f);  // of documents that are in no row
        for_every_class(
            task, [&]() { return DocumentSpace(products.data(), n, task.own_column()); },
            [&](size_t j, Problem<DocumentSpace>& problem, Watch& watch) {
                problem.solve(task.C.data()[j], task.precision, watch);
                ends.take(j, problem.space);
                for (size_t k = 0; k < task.rows.size(); ++k)
                    coefficients.data()[size_t(task.rows.data()[k]) * m + j] =
                        float(problem.coefficient(k));
            });
    }
    return nb::make_tuple(coefficients.handed_over(), ends.own_weights.handed_over(),
                          ends.intercepts.handed_over());
}

// Scores (number of C, test rows, m) of documents that were not learned from, for each C, each
// solution the start of the next. No weights are kept.
template <typename MakeSpace>
Array<float> validated(const Task& task, const Vector<int32_t>& test_rows, MakeSpace make_space) {
    check_indices(test_rows, task.n_docs());
    const size_t m = task.n_classes(), n_values = task.C.size(), n_tests = test_rows.size();
    Output<float> scores(n_values, n_tests, m);
    {
        nb::gil_scoped_release no_gil;
        for_every_class(task, make_space, [&](size_t j, auto& problem, Watch& watch) {
            for (size_t c = 0; c < n_values; ++c) {
                problem.solve(task.C.data()[c], task.precision, watch);
                float* into = scores.data() + c * n_tests * m + j;
                for (size_t k = 0; k < n_tests; ++k) {
                    into[k * m] = float(problem.space.score(size_t(test_rows.data()[k])));
                    watch.did(problem.space.n_steps());
                }
            }
        });
    }
    return scores.handed_over();
}

Array<float> validate(const Documents& documents, const Task& task, Vector<int32_t> test_rows) {
    check(documents.n_docs == task.n_docs(), "the task is about other documents");
    return validated(task, test_rows, [&]() { return FeatureSpace(documents, task.own_column()); });
}

Array<float> validate_products(Table<float> products, const Task& task, Vector<int32_t> test_rows) {
    check_products(products, task);
    return validated(task, test_rows, [&]() {
        return DocumentSpace(products.data(), task.n_docs(), task.own_column());
    });
}

// --- prediction ----------------------------------------------------------------------------------

constexpr int64_t AHEAD = 2;

// Begin to load `n` numbers, where the compiler knows how.
inline void fetch([[maybe_unused]] const float* numbers, [[maybe_unused]] size_t n) {
#if defined(__GNUC__)
    for (size_t k = 0; k < n; k += 16) __builtin_prefetch(numbers + k);
#endif
}

constexpr size_t ROWS_TOGETHER = 64;

// X W + intercept (n x m). A row of the result depends on its row of X alone.
Array<float> multiply(Vector<double> values, Vector<int32_t> columns, Vector<int64_t> starts,
                      Table<float> weights, Vector<float> intercept, int64_t n_threads) {
    const size_t m = weights.shape(1);
    check_csr(starts, columns, weights.shape(0));
    check(values.size() == columns.size(), "expected one value per column index");
    check(intercept.size() == m, "expected one intercept per class");
    const size_t n_docs = starts.size() - 1;
    n_threads = int64_t(checked_threads(n_threads, (n_docs + ROWS_TOGETHER - 1) / ROWS_TOGETHER));
    Output<float> product(n_docs, m);
    {
        nb::gil_scoped_release no_gil;
        std::atomic<size_t> next{0};
        in_threads(size_t(n_threads), [&](size_t, Watch& watch) {
            for (size_t first; (first = next.fetch_add(ROWS_TOGETHER)) < n_docs;) {
                for (size_t doc = first; doc < std::min(first + ROWS_TOGETHER, n_docs); ++doc) {
                    float* __restrict row = product.data() + doc * m;
                    std::copy_n(intercept.data(), m, row);
                    const int64_t end = starts.data()[doc + 1];
                    for (int64_t k = starts.data()[doc]; k < end; ++k) {
                        const float value = float(values.data()[k]);
                        const float* __restrict weight =
                            weights.data() + size_t(columns.data()[k]) * m;
                        // the rows are anywhere in a large table: ask for the next ones early
                        if (k + AHEAD < end)
                            fetch(weights.data() + size_t(columns.data()[k + AHEAD]) * m, m);
                        for (size_t j = 0; j < m; ++j) row[j] += value * weight[j];
                    }
                    watch.did(size_t(end - starts.data()[doc] + 1) * (m / 4 + 1));
                }
            }
        });
    }
    return product.handed_over();
}

}  // namespace

void bind(nb::module_ module) {
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

// Products of sparse matrices with tables of weights, which are the scores of linear models.

#include "shared.h"

namespace {

constexpr int64_t TERMS_PER_STEP = 4;                // these share one load and store of the sums
constexpr int64_t TERMS_AHEAD = 4 * TERMS_PER_STEP;  // whose rows of a large table are prefetched

// Prefetch `n` numbers.
inline void prefetch_row(const float* numbers, size_t n) {
    for (size_t k = 0; k < n; k += 16) prefetch_early(numbers + k);
    if (n > 0) prefetch_early(numbers + n - 1);
}

}  // namespace

void prefetch_weighted_rows(const int32_t* columns, int64_t n, const float* table, size_t m) {
    for (int64_t k = 0; k < std::min(n, TERMS_AHEAD); ++k)
        prefetch_row(table + size_t(columns[k]) * m, m);
}

SIMD_CLONES void add_weighted_rows(const double* values, const int32_t* columns, int64_t n,
                                   const float* table, float* __restrict sums, size_t m) {
    const auto row_of = [&](int64_t k) { return table + size_t(columns[k]) * m; };
    int64_t k = 0;
    for (; k + TERMS_PER_STEP <= n; k += TERMS_PER_STEP) {
        for (int64_t next = k + TERMS_AHEAD; next < std::min(k + TERMS_AHEAD + TERMS_PER_STEP, n);
             ++next)
            prefetch_row(row_of(next), m);
        const float* __restrict a = row_of(k), * __restrict b = row_of(k + 1);
        const float* __restrict c = row_of(k + 2), * __restrict d = row_of(k + 3);
        const auto value_a = float(values[k]), value_b = float(values[k + 1]);
        const auto value_c = float(values[k + 2]), value_d = float(values[k + 3]);
        for (size_t j = 0; j < m; ++j) {
            float sum = sums[j];
            sum += value_a * a[j];
            sum += value_b * b[j];
            sum += value_c * c[j];
            sum += value_d * d[j];
            sums[j] = sum;
        }
    }
    for (; k < n; ++k) {
        const float* __restrict row = row_of(k);
        const auto value = float(values[k]);
        for (size_t j = 0; j < m; ++j) sums[j] += value * row[j];
    }
}

namespace solver {
namespace {

constexpr size_t ROWS_PER_TASK = 64;

// Return X W + intercept (n x m). A row of the result depends only on its row of X.
Array<float> multiply(Vector<double> values, Vector<int32_t> columns, Vector<int64_t> starts,
                      Table<float> weights, Vector<float> intercept, int64_t n_threads) {
    const size_t m = weights.shape(1);
    check_csr(starts, columns, weights.shape(0));
    check(values.size() == columns.size(), "the values and the column indices differ in number");
    check(intercept.size() == m, "the numbers of intercepts and classes differ");
    const size_t n_docs = starts.size() - 1;
    n_threads = int64_t(limit_threads(n_threads, (n_docs + ROWS_PER_TASK - 1) / ROWS_PER_TASK));
    Output<float> product(n_docs, m);
    {
        nb::gil_scoped_release no_gil;
        std::atomic<size_t> next{0};
        run_in_threads(size_t(n_threads), [&](size_t, Watch& watch) {
            for (size_t first; (first = next.fetch_add(ROWS_PER_TASK)) < n_docs;) {
                for (size_t doc = first; doc < std::min(first + ROWS_PER_TASK, n_docs); ++doc) {
                    float* row = product.data() + doc * m;
                    std::copy_n(intercept.data(), m, row);
                    const int64_t start = starts.data()[doc], n = starts.data()[doc + 1] - start;
                    add_weighted_rows(values.data() + start, columns.data() + start, n,
                                      weights.data(), row, m);
                    watch.add_steps(size_t(n + 1) * (m / 4 + 1));
                }
            }
        });
    }
    return product.to_numpy();
}

// Return X W + intercept (rows x m) for some rows of X and a sparse W. `terms` are the rows of W
// that have weights, in ascending order. The weights of the k-th one start at ends[k].
Array<float> multiply_pruned(Vector<double> values, Vector<int32_t> columns, Vector<int64_t> starts,
                             Vector<int32_t> rows, Vector<int32_t> terms, Vector<int64_t> ends,
                             Vector<int32_t> classes, Vector<float> weights,
                             Vector<float> intercept, size_t n_columns) {
    const size_t m = intercept.size();
    check_csr(starts, columns, n_columns);
    check_csr(ends, classes, m);
    check(values.size() == columns.size(), "the values and the column indices differ in number");
    check(weights.size() == classes.size(), "the weights and the class indices differ in number");
    check(ends.size() == terms.size() + 1, "the terms and the rows of weights differ in number");
    check_indices(rows, starts.size() - 1);
    check_indices(terms, n_columns);
    Output<float> product(rows.size(), m);
    {
        nb::gil_scoped_release no_gil;
        Watch watch;
        std::vector<int32_t> row_of_term(n_columns, -1);
        for (size_t k = 0; k < terms.size(); ++k) row_of_term[size_t(terms.data()[k])] = int32_t(k);
        for (size_t r = 0; r < rows.size(); ++r) {
            float* __restrict row = product.data() + r * m;
            std::copy_n(intercept.data(), m, row);
            const auto doc = size_t(rows.data()[r]);
            for (int64_t k = starts.data()[doc]; k < starts.data()[doc + 1]; ++k) {
                const int32_t row_of_W = row_of_term[size_t(columns.data()[k])];
                if (row_of_W < 0) continue;
                const auto value = float(values.data()[k]);
                const int64_t end = ends.data()[row_of_W + 1];
                for (int64_t j = ends.data()[row_of_W]; j < end; ++j)
                    row[classes.data()[j]] += value * weights.data()[j];
                watch.add_steps(size_t(end - ends.data()[row_of_W]) + 4);
            }
        }
    }
    return product.to_numpy();
}

// Return X T (n x m) of two sparse matrices as a dense one. The sums of a row stay in the cache.
Array<double> multiply_sparse(Vector<double> values, Vector<int32_t> columns,
                              Vector<int64_t> starts, Vector<double> table_values,
                              Vector<int32_t> table_columns, Vector<int64_t> table_starts,
                              size_t n_columns) {
    check_csr(table_starts, table_columns, n_columns);
    check_csr(starts, columns, table_starts.size() - 1);
    check(values.size() == columns.size() && table_values.size() == table_columns.size(),
          "the values and the column indices differ in number");
    const size_t n_docs = starts.size() - 1;
    Output<double> product(n_docs, n_columns);
    {
        nb::gil_scoped_release no_gil;
        Watch watch;
        for (size_t doc = 0; doc < n_docs; ++doc) {
            double* __restrict row = product.data() + doc * n_columns;
            std::fill_n(row, n_columns, 0.0);
            size_t n_steps = n_columns;
            for (int64_t k = starts.data()[doc]; k < starts.data()[doc + 1]; ++k) {
                const double value = values.data()[k];
                const int64_t* ends = table_starts.data() + columns.data()[k];
                for (int64_t t = ends[0]; t < ends[1]; ++t)
                    row[table_columns.data()[t]] += value * table_values.data()[t];
                n_steps += size_t(ends[1] - ends[0]);
            }
            watch.add_steps(n_steps);
        }
    }
    return product.to_numpy();
}

}  // namespace

void bind_sparse_products(nb::module_ module) {
    module.def("multiply", &multiply);
    module.def("multiply_pruned", &multiply_pruned);
    module.def("multiply_sparse", &multiply_sparse);
}

}  // namespace solver

// Validation of features from Python, and sums of rows of products.

#include "features.h"

#include <cmath>

namespace solver {

Documents make_documents(Vector<float> values, Vector<int32_t> columns, Vector<int64_t> starts,
                         Table<float> block, size_t n_columns) {
    check_csr(starts, columns, n_columns);
    const size_t n_docs = starts.size() - 1;
    check(values.size() == columns.size(), "the values and the column indices differ in number");
    check(block.shape(0) == n_docs,
          "the dense block and the sparse matrix differ in their numbers of rows");
    const auto owners = std::make_tuple(values, columns, starts, block);
    Documents documents{values.data(),  columns.data(), starts.data(),
                        block.data(),   n_docs,         n_columns,
                        block.shape(1), owners,         std::vector<double>(n_docs)};
    for (size_t doc = 0; doc < n_docs; ++doc) {
        documents.squared_lengths[doc] = documents.squared_length(doc);
        check(std::isfinite(documents.squared_lengths[doc]),
              "a feature is not finite; check the vectors for NaN and infinity");
    }
    return documents;
}

SIMD_CLONES void add_row(const float* __restrict row, double change, double* __restrict scores,
                         size_t n) {
    for (size_t k = 0; k < n; ++k) scores[k] += change * row[k];
}

}  // namespace solver

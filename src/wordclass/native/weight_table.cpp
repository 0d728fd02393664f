// Scores of one document for 16 classes, which is the innermost loop of working sets.

#include "weight_table.h"

namespace solver {

namespace {

constexpr int64_t LINES_AHEAD = 12;

inline void add_line(Line& sums, float value, const Line& weights) {
    for (size_t j = 0; j < LANES; ++j) sums.values[j] += value * weights.values[j];
}

}  // namespace

SIMD_CLONES void add_scores(const Documents& documents, size_t doc, const Line* weights,
                            Line& scores) {
    Line sums = scores,
         odd_sums{};  // with two sums, an addition does not wait for the previous one
    const int64_t end = documents.starts[doc + 1], n_all = documents.starts[documents.n_docs];
    int64_t k = documents.starts[doc];
    for (; k + 2 <= end; k += 2) {
        // the lines of the next features are prefetched, because they are scattered over a large
        // table
        if (k + LINES_AHEAD + 1 < n_all) {
            prefetch(weights + documents.columns[k + LINES_AHEAD]);
            prefetch(weights + documents.columns[k + LINES_AHEAD + 1]);
        }
        add_line(sums, documents.values[k], weights[documents.columns[k]]);
        add_line(odd_sums, documents.values[k + 1], weights[documents.columns[k + 1]]);
    }
    if (k < end) add_line(sums, documents.values[k], weights[documents.columns[k]]);
    const float* row = documents.block + doc * documents.n_block;
    weights += documents.n_columns;
    size_t t = 0;
    for (; t + 2 <= documents.n_block; t += 2) {
        add_line(sums, row[t], weights[t]);
        add_line(odd_sums, row[t + 1], weights[t + 1]);
    }
    if (t < documents.n_block) add_line(sums, row[t], weights[t]);
    for (size_t j = 0; j < LANES; ++j) scores.values[j] = sums.values[j] + odd_sums.values[j];
}

}  // namespace solver

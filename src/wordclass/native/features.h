// The features of documents, and two representations of a linear solution.

#pragma once

#include <tuple>

#include "shared.h"

namespace solver {

// Documents as rows of a sparse matrix and of a dense block. `owners` keeps the arrays alive.
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
        // with four sums, an addition does not wait for the previous one
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

    void add(size_t doc, double factor, double* __restrict sparse_weights,
             double* __restrict block_weights) const {
        const float* __restrict numbers = values, * __restrict row = block + doc * n_block;
        const int32_t* __restrict indices = columns;
        const int64_t end = starts[doc + 1];
        for (int64_t k = starts[doc]; k < end; ++k)
            sparse_weights[indices[k]] += factor * numbers[k];
        for (size_t j = 0; j < n_block; ++j) block_weights[j] += factor * row[j];
    }

    // Prefetch the data that `dot` reads.
    void prefetch_row(size_t doc) const {
        const int64_t start = starts[doc], end = starts[doc + 1];
        for (int64_t k = start; k < end; k += 16) {
            prefetch(values + k);
            prefetch(columns + k);
        }
        for (size_t j = 0; j < n_block; j += 16) prefetch(block + doc * n_block + j);
    }

    double squared_length(size_t doc) const {
        double sum = 0;
        for (int64_t k = starts[doc]; k < starts[doc + 1]; ++k)
            sum += double(values[k]) * values[k];
        const float* row = block + doc * n_block;
        for (size_t j = 0; j < n_block; ++j) sum += double(row[j]) * row[j];
        return sum;
    }

    // Return the average number of steps to score a document.
    size_t n_steps() const {
        return 8 + n_block + size_t(starts[n_docs]) / std::max<size_t>(n_docs, 1);
    }
};

Documents make_documents(Vector<float> values, Vector<int32_t> columns, Vector<int64_t> starts,
                         Table<float> block, size_t n_columns);

// A solution as weights of features. The score of a document costs one step per feature. `own` is
// the document's value of the feature that only this class has.
class FeatureSpace {
public:
    explicit FeatureSpace(const Documents& documents)
        : documents_(documents),
          weights_(documents.n_columns),
          block_weights_(documents.n_block) {}

    void begin() {
        std::fill(weights_.begin(), weights_.end(), 0.0);
        std::fill(block_weights_.begin(), block_weights_.end(), 0.0);
        own_weight = intercept = 0;
    }
    double score(size_t doc, float own) const {
        return documents_.dot(doc, weights_.data(), block_weights_.data()) + own_weight * own +
               intercept;
    }
    void add(size_t doc, float own, double change) {
        documents_.add(doc, change, weights_.data(), block_weights_.data());
        own_weight += change * own;
        intercept += change;
    }
    double squared_length(size_t doc) const { return documents_.squared_lengths[doc]; }
    void prepare(size_t doc) const { documents_.prefetch_row(doc); }
    size_t n_steps() const { return documents_.n_steps(); }
    const std::vector<double, Allocator<double>>& weights() const { return weights_; }
    const std::vector<double, Allocator<double>>& block_weights() const { return block_weights_; }

    double own_weight = 0, intercept = 0;

private:
    const Documents& documents_;
    std::vector<double, Allocator<double>> weights_, block_weights_;
};

// Add a row, multiplied by a factor, to the scores.
void add_row(const float* row, double change, double* scores, size_t n);

// A solution as the scores of all documents, computed from their n x n inner products. A score
// costs nothing, and a change costs n vectorized steps. It suits few documents with many features.
class DocumentSpace {
public:
    DocumentSpace(const float* products, size_t n_docs) : products_(products), scores_(n_docs) {}

    void begin() {
        std::fill(scores_.begin(), scores_.end(), 0.0);
        own_weight = intercept = 0;
    }
    double score(size_t doc, float own) const {
        return scores_[doc] + own_weight * own + intercept;
    }
    void add(size_t doc, float own, double change) {
        add_row(products_ + doc * scores_.size(), change, scores_.data(), scores_.size());
        own_weight += change * own;
        intercept += change;
    }
    double squared_length(size_t doc) const { return products_[doc * scores_.size() + doc]; }
    void prepare(size_t) const {}
    size_t n_steps() const { return 8 + scores_.size() / 8; }

    double own_weight = 0, intercept = 0;

private:
    const float* products_;
    std::vector<double> scores_;
};

}  // namespace solver

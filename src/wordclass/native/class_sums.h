// Sums over documents, from which word-class embeddings are computed.

#pragma once

#include "engine.h"

namespace engine {

// Sums per term, added in the order of the documents: numbers of documents, weights and squared
// weights, and on request weights or numbers of documents per class.
class ClassSums {
public:
    ClassSums(size_t n_terms, size_t n_classes, bool of_weights, bool of_documents)
        : n_terms_(n_terms),
          n_classes_(n_classes),
          of_weights_(of_weights),
          of_documents_(of_documents) {
        if (n_terms > MAX_TERMS || (n_classes != 0 && n_terms > MAX_TERMS / n_classes))
            throw nb::value_error("too many terms and classes for a dense table; raise min_docs");
        totals_.resize(n_terms);
        joint_weight_.resize(of_weights ? n_terms * n_classes : 0, 0.0);
        joint_docs_.resize(of_documents ? n_terms * n_classes : 0, 0.0);
    }

    void add(const int32_t* columns, const double* weights, size_t n, const int32_t* labels,
             size_t n_labels, Watch& watch) {
        watch.add_steps(4 * n * (n_labels + 1));
        for (size_t entry = 0; entry < n; ++entry) {
            const auto term = size_t(columns[entry]);
            const double weight = weights[entry];
            totals_[term].docs += 1;
            totals_[term].weights += weight;
            totals_[term].squares += weight * weight;
            for (size_t label = 0; label < n_labels; ++label) {
                const size_t cell = term * n_classes_ + size_t(labels[label]);
                if (of_weights_) joint_weight_[cell] += weight;
                if (of_documents_) joint_docs_[cell] += 1;
            }
        }
    }

    // Return (documents, weights, squares, weights by class, documents by class). The last two are
    // CSR matrices (values, columns, ends), or None.
    nb::tuple to_numpy() {
        Output<double> docs(n_terms_), weights(n_terms_), squares(n_terms_);
        for (size_t term = 0; term < n_terms_; ++term) {
            docs.data()[term] = totals_[term].docs;
            weights.data()[term] = totals_[term].weights;
            squares.data()[term] = totals_[term].squares;
        }
        return nb::make_tuple(docs.to_numpy(), weights.to_numpy(), squares.to_numpy(),
                              of_weights_ ? compress(joint_weight_) : nb::none(),
                              of_documents_ ? compress(joint_docs_) : nb::none());
    }

private:
    nb::object compress(const std::vector<double>& cells) const {
        const auto n_values = size_t(
            std::count_if(cells.begin(), cells.end(), [](double cell) { return cell != 0; }));
        Csr<double> matrix{Output<double>(n_values), Output<int32_t>(n_values),
                           Output<int64_t>(n_terms_ + 1)};
        Watch watch;
        size_t entry = 0;
        for (size_t term = 0; term < n_terms_; ++term) {
            watch.add_steps(n_classes_);
            matrix.ends.data()[term] = int64_t(entry);
            for (size_t label = 0; label < n_classes_; ++label) {
                const double cell = cells[term * n_classes_ + label];
                if (cell == 0) continue;
                matrix.values.data()[entry] = cell;
                matrix.columns.data()[entry++] = int32_t(label);
            }
        }
        matrix.ends.data()[n_terms_] = int64_t(entry);
        return matrix.to_numpy();
    }

    size_t n_terms_, n_classes_;
    bool of_weights_, of_documents_;
    struct Total {
        double docs = 0, weights = 0, squares = 0;
    };

    std::vector<Total> totals_;  // per term, adjacent in memory
    std::vector<double> joint_weight_, joint_docs_;
};

}  // namespace engine

// tf-idf weights of counted documents, and sums over weighted documents.

#include "class_sums.h"

#include "occurrence_rows.h"

namespace engine {

namespace {

// Sublinear tf-idf with rows of length 1. The order of additions is that of
// text/weightings/_unit_rows.py.
Array<double> tfidf(Vector<int32_t> counts, Vector<int32_t> columns, Vector<int64_t> ends,
                    Vector<double> idf, Vector<double> damped) {
    check(counts.size() == columns.size(), "the counts and the column indices differ in number");
    check_csr(ends, columns, idf.size());
    check_indices(counts, damped.size());
    const Tfidf weighting(idf, damped);
    Output<double> weights(counts.size());
    {
        nb::gil_scoped_release no_gil;
        Watch watch;
        for (size_t row = 0; row + 1 < ends.size(); ++row) {
            const auto start = size_t(ends.data()[row]);
            const auto end = size_t(ends.data()[row + 1]);
            watch.add_steps(2 * (end - start) + 1);
            for (size_t entry = start; entry < end; ++entry)
                weights.data()[entry] =
                    weighting(size_t(columns.data()[entry]), uint32_t(counts.data()[entry]));
            weighting.finish_row(weights.data() + start, end - start);
        }
    }
    return weights.to_numpy();
}

// Sums over weighted documents, given X and Y in CSR format without the values of Y.
nb::tuple sum_documents(Vector<double> weights, Vector<int32_t> columns, Vector<int64_t> ends,
                        Vector<int32_t> classes, Vector<int64_t> class_ends, size_t n_terms,
                        size_t n_classes, bool of_weights, bool of_documents) {
    check(ends.size() == class_ends.size() && columns.size() == weights.size(),
          "the weights and the labels differ in their numbers of documents");
    check_csr(ends, columns, n_terms);
    check_csr(class_ends, classes, n_classes);
    ClassSums sums(n_terms, n_classes, of_weights, of_documents);
    {
        nb::gil_scoped_release no_gil;
        Watch watch;
        for (size_t row = 0; row + 1 < ends.size(); ++row) {
            const int64_t start = ends.data()[row], label = class_ends.data()[row];
            sums.add(columns.data() + start, weights.data() + start,
                     size_t(ends.data()[row + 1] - start), classes.data() + label,
                     size_t(class_ends.data()[row + 1] - label), watch);
        }
    }
    return sums.to_numpy();
}

}  // namespace

void bind_class_sums(nb::module_ module) {
    module.def("tfidf", &tfidf);
    module.def("sum_documents", &sum_documents);
}

}  // namespace engine

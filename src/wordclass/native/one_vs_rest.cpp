// Validation of a task from Python.

#include "one_vs_rest.h"

namespace solver {

namespace {

bool are_costs(const Vector<double>& costs) {
    return std::all_of(costs.data(), costs.data() + costs.size(),
                       [](double cost) { return cost >= 0 && std::isfinite(cost); });
}

}  // namespace

Task make_task(Vector<int32_t> members, Vector<int64_t> starts, Vector<double> positive_cost,
               Vector<double> negative_cost, Vector<double> doc_cost, Table<float> own,
               Vector<int32_t> rows, Vector<double> C, double tolerance, int max_passes,
               int64_t n_threads) {
    const size_t n_docs = doc_cost.size();
    check(n_docs < MAX_DOCS && rows.size() < MAX_DOCS, "there are 2^31 documents or more");
    check_csr(starts, members, n_docs);
    const size_t n_classes = starts.size() - 1;
    check(positive_cost.size() == n_classes && negative_cost.size() == n_classes,
          "the numbers of costs and classes differ");
    check(are_costs(positive_cost) && are_costs(negative_cost) && are_costs(doc_cost),
          "a cost is negative or not finite; expected costs of 0 or more");
    check(are_costs(C) && std::find(C.data(), C.data() + C.size(), 0.0) == C.data() + C.size(),
          "a value of C is out of range; expected finite numbers above 0");
    check(
        own.shape(0) == n_docs && (own.shape(1) == 0 || own.shape(1) == n_classes),
        "the own features have a wrong shape; expected a row per document and a column per class");
    check(tolerance >= 0 && max_passes >= 0, "the tolerance or the number of passes is negative");
    check_indices(rows, n_docs);
    // few documents are solved to the tolerance, which costs little
    const double gap = std::min(MAX_RELATIVE_GAP, 200 * tolerance * tolerance);
    const StoppingRule stopping{tolerance, max_passes,
                                rows.size() < MIN_DOCS_FOR_WORKING_SETS ? 0 : gap};
    const size_t n_used = limit_threads(n_threads, n_classes);
    return {members, starts, positive_cost, negative_cost, doc_cost, own,
            rows,    C,      stopping,      n_used};
}

}  // namespace solver

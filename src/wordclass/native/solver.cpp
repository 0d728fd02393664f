// Linear support vector machines with squared hinge loss, one class against the rest, by coordinate
// descent on the dual problem (Hsieh, Chang, Lin, Keerthi, Sundararajan 2008).
//
// For one class, with y = +1 or -1 and costs c, over w:
//
//     min  |w|^2 / 2  +  sum c max(0, 1 - y w.x)^2
//
// The features of a document are a row of a sparse matrix, a row of a dense block, one "own" number
// per class, which only the problem of this class uses, and a constant 1, whose weight is the
// intercept. Classes share only the documents, so threads solve them independently, and the result
// does not depend on the number of threads. This file computes solutions and validation scores.

#include "working_sets.h"

namespace solver {

namespace {

// The weights of own features (m) and the intercepts (m) of a solution.
struct Offsets {
    explicit Offsets(size_t m) : own_weights(m), intercepts(m) {}
    Output<float> own_weights, intercepts;

    template <typename Space>
    void take(size_t j, const Space& space) {
        own_weights.data()[j] = float(space.own_weight);
        intercepts.data()[j] = float(space.intercept);
    }
};

// Return the weights of the sparse columns (v x m) and of the block (k x m), and the offsets.
nb::tuple solve(const Documents& documents, const Task& task) {
    const size_t m = task.n_classes(), v = documents.n_columns, n_block = documents.n_block;
    check(documents.n_docs == task.n_docs(),
          "the task and the features differ in their numbers of documents");
    check(task.C.size() == m, "the numbers of C and classes differ");
    Output<float> weights(v, m), block_weights(n_block, m);
    Offsets offsets(m);
    const auto keep = [&](size_t j, const FeatureSpace& space) {
        offsets.take(j, space);
        for (size_t t = 0; t < v; ++t) weights.data()[t * m + j] = float(space.weights()[t]);
        for (size_t t = 0; t < n_block; ++t)
            block_weights.data()[t * m + j] = float(space.block_weights()[t]);
    };
    {
        nb::gil_scoped_release no_gil;
        if (!needs_working_sets(task)) {
            for_each_class(
                task, [&]() { return FeatureSpace(documents); },
                [&](size_t j, Problem<FeatureSpace>& problem, Watch& watch) {
                    problem.solve(task.C.data()[j], task.stopping, watch);
                    keep(j, problem.space);
                });
        } else {
            WorkingSets sets(documents, task);
            sets.for_each_group([&]() {
                sets.solve([&](size_t j) { return task.C.data()[j]; },
                           [&](size_t, size_t j, const FeatureSpace& space) { keep(j, space); });
            });
        }
    }
    return nb::make_tuple(weights.to_numpy(), block_weights.to_numpy(),
                          offsets.own_weights.to_numpy(), offsets.intercepts.to_numpy());
}

void check_products(const Table<float>& products, const Task& task) {
    check(products.shape(0) == task.n_docs() && products.shape(1) == task.n_docs(),
          "the products have a wrong shape; expected a row and a column per document");
}

// Return the coefficients of the documents (n x m) in the weights, and the offsets.
nb::tuple solve_products(Table<float> products, const Task& task) {
    const size_t m = task.n_classes(), n = task.n_docs();
    check_products(products, task);
    check(task.C.size() == m, "the numbers of C and classes differ");
    Output<float> coefficients(n, m);
    Offsets offsets(m);
    {
        nb::gil_scoped_release no_gil;
        std::fill_n(coefficients.data(), n * m, 0.0f);  // for documents that are not in `rows`
        for_each_class(
            task, [&]() { return DocumentSpace(products.data(), n); },
            [&](size_t j, Problem<DocumentSpace>& problem, Watch& watch) {
                problem.solve(task.C.data()[j], task.stopping, watch);
                offsets.take(j, problem.space);
                for (const Candidate& candidate : problem.candidates)
                    coefficients.data()[size_t(candidate.doc) * m + j] =
                        float(candidate.dual * candidate.sign);
            });
    }
    return nb::make_tuple(coefficients.to_numpy(), offsets.own_weights.to_numpy(),
                          offsets.intercepts.to_numpy());
}

// Compute the scores (number of C, test rows, m) of held-out documents for each C. Each solution is
// the start of the next one. No weights are stored.
template <typename MakeSpace>
void validate_classes(const Task& task, const Vector<int32_t>& test_rows, MakeSpace make_space,
                      float* scores) {
    const size_t m = task.n_classes(), n_tests = test_rows.size();
    for_each_class(task, make_space, [&](size_t j, auto& problem, Watch& watch) {
        for (size_t c = 0; c < task.C.size(); ++c) {
            problem.solve(task.C.data()[c], task.stopping, watch);
            float* target = scores + c * n_tests * m + j;
            for (size_t k = 0; k < n_tests; ++k) {
                const auto doc = size_t(test_rows.data()[k]);
                target[k * m] = float(problem.space.score(doc, task.own_value(doc, j)));
                watch.add_steps(problem.space.n_steps());
            }
        }
    });
}

Array<float> validate(const Documents& documents, const Task& task, Vector<int32_t> test_rows) {
    check(documents.n_docs == task.n_docs(),
          "the task and the features differ in their numbers of documents");
    check_indices(test_rows, task.n_docs());
    const size_t m = task.n_classes(), n_tests = test_rows.size();
    Output<float> scores(task.C.size(), n_tests, m);
    {
        nb::gil_scoped_release no_gil;
        if (!needs_working_sets(task)) {
            validate_classes(
                task, test_rows, [&]() { return FeatureSpace(documents); }, scores.data());
        } else {
            WorkingSets sets(documents, task);
            sets.for_each_group([&]() {
                for (size_t c = 0; c < task.C.size(); ++c)
                    sets.validate(task.C.data()[c], test_rows, scores.data() + c * n_tests * m);
            });
        }
    }
    return scores.to_numpy();
}

Array<float> validate_products(Table<float> products, const Task& task, Vector<int32_t> test_rows) {
    check_products(products, task);
    check_indices(test_rows, task.n_docs());
    Output<float> scores(task.C.size(), test_rows.size(), task.n_classes());
    {
        nb::gil_scoped_release no_gil;
        validate_classes(
            task, test_rows, [&]() { return DocumentSpace(products.data(), task.n_docs()); },
            scores.data());
    }
    return scores.to_numpy();
}

}  // namespace

void bind(nb::module_ module) {
    nb::class_<Documents>(module, "Documents");
    module.def("documents", &make_documents);
    nb::class_<Task>(module, "Task");
    module.def("task", &make_task);
    module.def("solve", &solve);
    module.def("solve_products", &solve_products);
    module.def("validate", &validate);
    module.def("validate_products", &validate_products);
    bind_sparse_products(module);
}

}  // namespace solver

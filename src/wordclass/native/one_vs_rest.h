// The problems of all classes, one class against the rest, divided among threads.

#pragma once

#include "coordinate_descent.h"

namespace solver {

// The labels of all documents by class, the costs of errors and the values of C.
struct Task {
    Vector<int32_t> members;                      // documents of class 0, class 1, ...
    Vector<int64_t> starts;                       // m + 1
    Vector<double> positive_cost, negative_cost;  // m
    Vector<double> doc_cost;                      // n
    Table<float> own;                             // n x m, or n x 0
    Vector<int32_t> rows;                         // the training documents
    Vector<double> C;
    StoppingRule stopping;
    size_t n_threads;

    size_t n_classes() const { return starts.size() - 1; }
    size_t n_docs() const { return doc_cost.size(); }
    float own_value(size_t doc, size_t class_number) const {
        return own.shape(1) ? own.data()[doc * own.shape(1) + class_number] : 0.0f;
    }
    Candidate candidate(size_t row, int32_t doc, size_t class_number, bool is_positive) const {
        const Vector<double>& costs = is_positive ? positive_cost : negative_cost;
        Candidate result{};
        result.sign = is_positive ? 1.0 : -1.0;
        result.cost = doc_cost.data()[doc] * costs.data()[class_number];
        result.own = own_value(size_t(doc), class_number);
        result.doc = doc;
        result.row = uint32_t(row);
        return result;
    }
    // Set the flags (n) of the documents of a class.
    void flag(size_t class_number, std::vector<uint8_t>& is_positive, uint8_t value) const {
        for (int64_t k = starts.data()[class_number]; k < starts.data()[class_number + 1]; ++k)
            is_positive[size_t(members.data()[k])] = value;
    }
    // Return all classes, large ones first, so that no thread starts a large one at the end.
    std::vector<size_t> classes_by_size() const {
        const int64_t* ends = starts.data();
        std::vector<size_t> order(n_classes());
        std::iota(order.begin(), order.end(), size_t(0));
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return ends[a + 1] - ends[a] > ends[b + 1] - ends[b];
        });
        return order;
    }
};

Task make_task(Vector<int32_t> members, Vector<int64_t> starts, Vector<double> positive_cost,
               Vector<double> negative_cost, Vector<double> doc_cost, Table<float> own,
               Vector<int32_t> rows, Vector<double> C, double tolerance, int max_passes,
               int64_t n_threads);

// Call work(class, problem, watch) for every class with all documents as candidates.
template <typename MakeSpace, typename Work>
void for_each_class(const Task& task, MakeSpace make_space, Work work) {
    const std::vector<size_t> order = task.classes_by_size();
    std::atomic<size_t> next{0};
    run_in_threads(task.n_threads, [&](size_t, Watch& watch) {
        Problem problem(make_space());
        std::vector<uint8_t> is_positive(task.n_docs());
        for (size_t k; (k = next++) < order.size();) {
            const size_t j = order[k];
            task.flag(j, is_positive, 1);
            problem.begin();
            for (size_t k = 0; k < task.rows.size(); ++k) {
                const int32_t doc = task.rows.data()[k];
                const Candidate candidate = task.candidate(k, doc, j, is_positive[size_t(doc)]);
                if (candidate.cost > 0) problem.take(candidate);  // others do not count
            }
            work(j, problem, watch);
            task.flag(j, is_positive, 0);
        }
    });
}

}  // namespace solver

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

namespace {

constexpr int64_t TERMS_TOGETHER = 4;  // the sums are loaded and stored once for all of them
constexpr int64_t TERMS_AHEAD = 4 * TERMS_TOGETHER;  // rows are anywhere in a large table

// Begin to load `n` numbers.
inline void fetch(const float* numbers, size_t n) {
    for (size_t k = 0; k < n; k += 16) prefetch_early(numbers + k);
    if (n > 0) prefetch_early(numbers + n - 1);
}

}  // namespace

void expect_weighted_rows(const int32_t* columns, int64_t n, const float* table, size_t m) {
    for (int64_t k = 0; k < std::min(n, TERMS_AHEAD); ++k) fetch(table + size_t(columns[k]) * m, m);
}

WIDER_WHERE_IT_CAN void add_weighted_rows(const double* values, const int32_t* columns, int64_t n,
                                          const float* table, float* __restrict sums, size_t m) {
    const auto row_of = [&](int64_t k) { return table + size_t(columns[k]) * m; };
    int64_t k = 0;
    for (; k + TERMS_TOGETHER <= n; k += TERMS_TOGETHER) {
        for (int64_t next = k + TERMS_AHEAD; next < std::min(k + TERMS_AHEAD + TERMS_TOGETHER, n);
             ++next)
            fetch(row_of(next), m);
        const float* __restrict a = row_of(k), * __restrict b = row_of(k + 1);
        const float* __restrict c = row_of(k + 2), * __restrict d = row_of(k + 3);
        const auto of_a = float(values[k]), of_b = float(values[k + 1]);
        const auto of_c = float(values[k + 2]), of_d = float(values[k + 3]);
        for (size_t j = 0; j < m; ++j) {
            float sum = sums[j];
            sum += of_a * a[j];
            sum += of_b * b[j];
            sum += of_c * c[j];
            sum += of_d * d[j];
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

    void add(size_t doc, double factor, double* __restrict sparse_weights,
             double* __restrict block_weights) const {
        const float* __restrict numbers = values, * __restrict row = block + doc * n_block;
        const int32_t* __restrict places = columns;
        const int64_t end = starts[doc + 1];
        for (int64_t k = starts[doc]; k < end; ++k)
            sparse_weights[places[k]] += factor * numbers[k];
        for (size_t j = 0; j < n_block; ++j) block_weights[j] += factor * row[j];
    }

    // Begin to load what `dot` reads.
    void fetch(size_t doc) const {
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

    // The steps that a look at a document takes, on average.
    size_t n_steps() const {
        return 8 + n_block + size_t(starts[n_docs]) / std::max<size_t>(n_docs, 1);
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

// --- two ways to hold a solution -----------------------------------------------------------------

// As weights of features: a look at a document costs its features. `own` is what the document has
// in the column that only this class sees.
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
    void prepare(size_t doc) const { documents_.fetch(doc); }
    size_t n_steps() const { return documents_.n_steps(); }
    const std::vector<double, Allocator<double>>& weights() const { return weights_; }
    const std::vector<double, Allocator<double>>& block_weights() const { return block_weights_; }

    double own_weight = 0, intercept = 0;

private:
    const Documents& documents_;
    std::vector<double, Allocator<double>> weights_, block_weights_;
};

WIDER_WHERE_IT_CAN void add_row(const float* __restrict row, double change,
                                double* __restrict scores, size_t n) {
    for (size_t k = 0; k < n; ++k) scores[k] += change * row[k];
}

// As the scores of all documents, from their n x n inner products: a look at a document costs
// nothing, a change costs n steps side by side. For few documents with many features.
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
    double gap;  // how far an objective may be from its optimum, relative to it, to be solved too
};

constexpr size_t MANY_DOCS = 2000;
constexpr double CLOSE_ENOUGH = 2e-4;
constexpr size_t MAX_DOCS = size_t{1} << 31;
constexpr int LAST_PASSES = 20;  // before giving up, over documents not looked at for a while too
constexpr double SMALL = 0.25;   // of the tolerance: a smaller gradient is no reason to move
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// A document that a class learns from.
struct Candidate {
    double dual;  // 0, or how much it adds to the weights
    double sign;
    double cost;  // of an error, above 0
    double squared_length;
    double softness;  // for the C of the moment
    float own;
    int32_t doc;
    uint32_t place;  // among the rows
};

// What came of some passes over candidates.
struct Descent {
    int n_passes = 0;
    bool is_solved = false;  // the spread of gradients is within the tolerance, or the gap is
    bool were_all = false;   // ... and none was left aside in the last pass
    bool was_close = false;  // the gap was in the first pass
    double first_spread = 0;
};

// The problem of one class after the other, on the documents that it is given.
template <typename Space>
class Problem {
public:
    explicit Problem(Space space) : space(std::move(space)) {}

    void begin() {
        space.begin();
        candidates.clear();
        random_ = Random{0x9E3779B97F4A7C15ull};
    }

    void take(Candidate candidate) {
        const double own = candidate.own;
        candidate.squared_length = space.squared_length(size_t(candidate.doc)) + own * own + 1;
        if (candidate.dual > 0)
            space.add(size_t(candidate.doc), candidate.own, candidate.dual * candidate.sign);
        candidates.push_back(candidate);
    }

    // The optimum for the documents that were taken, from where it is.
    void solve(double C, const Precision& precision, Watch& watch) {
        random_ = Random{0x9E3779B97F4A7C15ull};
        for (int n_passes = 0; n_passes < precision.max_passes;) {
            const int limit = passes_before_a_look(n_passes, precision.max_passes);
            const Descent descent =
                descend(C, precision.tolerance, precision.gap, false, limit - n_passes, watch);
            if (descent.is_solved && descent.were_all) break;
            n_passes += descent.n_passes;
        }
    }

    // Passes over all candidates, then over those that may still move, until the spread of their
    // gradients is within the tolerance. Where a look at all documents follows, it is eager: all
    // that need not move leave at once.
    Descent descend(double C, double tolerance, double most_gap, bool is_eager, int max_passes,
                    Watch& watch) {
        const size_t n_steps = space.n_steps();
        const double nothing = std::max(1e-12, SMALL * tolerance);
        active_.resize(candidates.size());
        std::iota(active_.begin(), active_.end(), uint32_t(0));
        for (Candidate& candidate : candidates) candidate.softness = 0.5 / (C * candidate.cost);
        size_t n_active = active_.size();
        double shrink_above = is_eager ? 0 : INFINITE;
        Descent made;
        size_t n_looks = 0;  // of all passes: they may be short, and many
        while (made.n_passes < max_passes && !made.is_solved) {
            double highest = is_eager ? 0 : -INFINITE, lowest = is_eager ? 0 : INFINITE;
            double gap = 0, value = 0;  // twice what is missing to the optimum, at most; the dual
            for (size_t s = 0; s < n_active; ++s)
                std::swap(active_[s], active_[s + random_.below(uint32_t(n_active - s))]);
            for (size_t s = 0; s < n_active;) {
                if ((++n_looks & 63) == 0) watch.did(64 * n_steps);  // seldom: this loop is hot
                if (s + 8 < n_active) prefetch(&candidates[active_[s + 8]]);
                if (s + 4 < n_active) space.prepare(size_t(candidates[active_[s + 4]].doc));
                Candidate& each = candidates[active_[s]];
                const auto doc = size_t(each.doc);
                const double gradient =
                    each.sign * space.score(doc, each.own) - 1 + each.dual * each.softness;
                double projected = gradient;
                if (each.dual == 0) {
                    if (gradient > shrink_above) {  // will stay at 0: not looked at for a while
                        std::swap(active_[s], active_[--n_active]);
                        continue;
                    }
                    projected = std::min(gradient, 0.0);
                }
                ++s;
                highest = std::max(highest, projected);
                lowest = std::min(lowest, projected);
                gap += projected * projected / each.softness;
                value += each.dual * (1 - gradient);
                if (std::abs(projected) <= nothing) continue;
                const double before = each.dual;
                each.dual =
                    std::max(before - gradient / (each.squared_length + each.softness), 0.0);
                space.add(doc, each.own, (each.dual - before) * each.sign);
            }
            // it takes in every change, so that nothing that is no number escapes it
            check(std::isfinite(space.intercept), "a feature or a cost is not finite");
            const double spread = highest - lowest;
            const bool is_close = most_gap > 0 && gap <= most_gap * value;
            if (made.n_passes++ == 0) {
                made.first_spread = spread;
                made.was_close = is_close;
            }
            made.is_solved = spread <= tolerance || is_close;
            made.were_all = n_active == active_.size();
            if (!is_eager) shrink_above = highest > 0 ? highest : INFINITE;
        }
        return made;
    }

    // After how many passes to look again at what was left aside: in time before giving up.
    static int passes_before_a_look(int n_passes, int max_passes) {
        return n_passes < max_passes - LAST_PASSES ? max_passes - LAST_PASSES : max_passes;
    }

    Space space;
    std::vector<Candidate> candidates;

private:
    std::vector<uint32_t> active_;
    Random random_{0};
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
    float own_value(size_t doc, size_t class_number) const {
        return own.shape(1) ? own.data()[doc * own.shape(1) + class_number] : 0.0f;
    }
    Candidate candidate(size_t place, int32_t doc, size_t class_number, bool is_positive) const {
        const Vector<double>& costs = is_positive ? positive_cost : negative_cost;
        Candidate made{};
        made.sign = is_positive ? 1.0 : -1.0;
        made.cost = doc_cost.data()[doc] * costs.data()[class_number];
        made.own = own_value(size_t(doc), class_number);
        made.doc = doc;
        made.place = uint32_t(place);
        return made;
    }
    // Sets a flag (n) for each document of a class.
    void flag(size_t class_number, std::vector<uint8_t>& is_positive, uint8_t value) const {
        for (int64_t k = starts.data()[class_number]; k < starts.data()[class_number + 1]; ++k)
            is_positive[size_t(members.data()[k])] = value;
    }
    // All classes, large ones first, so that no thread begins with one when the others end.
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
    // few documents are solved to the tolerance: that costs nothing
    const double gap = std::min(CLOSE_ENOUGH, 200 * tolerance * tolerance);
    const Precision precision{tolerance, max_passes, rows.size() < MANY_DOCS ? 0 : gap};
    const size_t n_used = checked_threads(n_threads, n_classes);
    return {members, starts, positive_cost, negative_cost, doc_cost, own,
            rows,    C,      precision,     n_used};
}

// Calls work(class, problem, watch) for every class, begun with all its documents.
template <typename MakeSpace, typename Work>
void for_every_class(const Task& task, MakeSpace make_space, Work work) {
    const std::vector<size_t> order = task.classes_by_size();
    std::atomic<size_t> next{0};
    in_threads(task.n_threads, [&](size_t, Watch& watch) {
        Problem problem(make_space());
        std::vector<uint8_t> is_positive(task.n_docs());
        for (size_t place; (place = next++) < order.size();) {
            const size_t j = order[place];
            task.flag(j, is_positive, 1);
            problem.begin();
            for (size_t k = 0; k < task.rows.size(); ++k) {
                const int32_t doc = task.rows.data()[k];
                const Candidate each = task.candidate(k, doc, j, is_positive[size_t(doc)]);
                if (each.cost > 0) problem.take(each);  // weight 0: as if not there
            }
            work(j, problem, watch);
            task.flag(j, is_positive, 0);
        }
    });
}

// --- many documents ------------------------------------------------------------------------------

// Few of many documents end up with a dual variable above 0, and only these count. So a class
// begins with its own documents and some others. When these are solved, roughly at first, a look at
// all documents, for many classes at once, finds what is missing, until nothing is. A look is in
// single precision; what it finds is looked at in double precision, and that ends the rounds.

constexpr size_t MANY_CLASSES = 4;                // else a look costs more than it saves
constexpr size_t ONE_OF = 16;                     // documents of other classes, to begin with
constexpr double TOLERANCES[] = {1, 0.1, 0.003};  // of rounds, where less is asked for in the end
constexpr double MANY = 0.92;  // of the first documents: then nearly all of them count
constexpr size_t MANY_OF = 4;  // ... or one of so many, where all are known
constexpr double FOUND = 0.5;  // times the tolerance: a smaller violation is none
constexpr size_t LANES = 16;   // classes whose weights of a feature share a line of the cache
constexpr int64_t LINES_AHEAD = 12;
constexpr size_t BITS = 64;
constexpr size_t DOCS_TOGETHER = 16 * BITS;  // what a thread takes at a time
constexpr size_t MOST_TOGETHER = 128;        // classes
constexpr size_t GROUP_BYTES = size_t{1} << 28;

struct alignas(64) Line {
    float values[LANES];
};

inline void add_line(Line& sums, float value, const Line& weights) {
    for (size_t j = 0; j < LANES; ++j) sums.values[j] += value * weights.values[j];
}

// Add what sparse features and block say about one document to the scores of the classes of a line.
WIDER_WHERE_IT_CAN void add_scores(const Documents& documents, size_t doc, const Line* weights,
                                   Line& scores) {
    Line sums = scores, others{};  // two sums: an addition need not wait for the one before
    const int64_t end = documents.starts[doc + 1], n_all = documents.starts[documents.n_docs];
    int64_t k = documents.starts[doc];
    for (; k + 2 <= end; k += 2) {
        // the lines are anywhere in a large table: ask for those of the next features early
        if (k + LINES_AHEAD + 1 < n_all) {
            prefetch(weights + documents.columns[k + LINES_AHEAD]);
            prefetch(weights + documents.columns[k + LINES_AHEAD + 1]);
        }
        add_line(sums, documents.values[k], weights[documents.columns[k]]);
        add_line(others, documents.values[k + 1], weights[documents.columns[k + 1]]);
    }
    if (k < end) add_line(sums, documents.values[k], weights[documents.columns[k]]);
    const float* row = documents.block + doc * documents.n_block;
    weights += documents.n_columns;
    size_t t = 0;
    for (; t + 2 <= documents.n_block; t += 2) {
        add_line(sums, row[t], weights[t]);
        add_line(others, row[t + 1], weights[t + 1]);
    }
    if (t < documents.n_block) add_line(sums, row[t], weights[t]);
    for (size_t j = 0; j < LANES; ++j) scores.values[j] = sums.values[j] + others.values[j];
}

// The weights of some classes, side by side for every feature.
class WeightTable {
public:
    WeightTable(const Documents& documents, const Task& task)
        : documents_(documents),
          task_(task),
          n_lines_(documents.n_columns + documents.n_block) {}

    void resize(size_t n_classes) {
        tiles_.resize((n_classes + LANES - 1) / LANES);
        lines_.resize(tiles_.size() * n_lines_);
    }

    void put(size_t slot, size_t class_number, const FeatureSpace& space) {
        const size_t lane = slot % LANES;
        Tile& tile = tiles_[slot / LANES];
        tile.intercepts.values[lane] = float(space.intercept);
        tile.own_weights.values[lane] = float(space.own_weight);
        tile.classes[lane] = class_number;
        Line* line = lines_.data() + slot / LANES * n_lines_;
        for (const double weight : space.weights()) (line++)->values[lane] = float(weight);
        for (const double weight : space.block_weights()) (line++)->values[lane] = float(weight);
    }

    // Calls work(place, first slot, scores of 16 slots) for some documents and the first slots, in
    // threads; one thread has all of a word of 64 places.
    template <typename Work>
    void for_every_score(const int32_t* rows, size_t n_rows, size_t n_slots, Work work) const {
        const size_t n_tiles = (n_slots + LANES - 1) / LANES;
        const size_t n_parts = (n_rows + DOCS_TOGETHER - 1) / DOCS_TOGETHER;
        const size_t n_threads = std::min(task_.n_threads, std::max<size_t>(n_parts * n_tiles, 1));
        const bool has_own = task_.own.shape(1) > 0;
        std::atomic<size_t> next{0};
        in_threads(n_threads, [&](size_t, Watch& watch) {
            for (size_t part; (part = next++) < n_parts * n_tiles;) {
                const size_t t = part / n_parts, first = part % n_parts * DOCS_TOGETHER;
                const Tile& tile = tiles_[t];
                for (size_t k = first; k < std::min(first + DOCS_TOGETHER, n_rows); ++k) {
                    const auto doc = size_t(rows[k]);
                    Line scores = tile.intercepts;
                    add_scores(documents_, doc, lines_.data() + t * n_lines_, scores);
                    for (size_t j = 0; has_own && j < LANES; ++j)
                        scores.values[j] +=
                            tile.own_weights.values[j] * task_.own_value(doc, tile.classes[j]);
                    work(k, t * LANES, scores);
                    watch.did(documents_.n_steps() * 2);
                }
            }
        });
    }

private:
    // What the classes of a line have beside the weights of features.
    struct Tile {
        Line intercepts{}, own_weights{};
        size_t classes[LANES]{};
    };

    const Documents& documents_;
    const Task& task_;
    size_t n_lines_;
    std::vector<Tile> tiles_;
    std::vector<Line, Allocator<Line>> lines_;  // tile after tile
};

// A set of places among the rows, one bit each.
using Places = std::vector<uint64_t>;

inline void insert(Places& places, size_t place) {
    places[place / BITS] |= uint64_t{1} << (place % BITS);
}

// One class of a group, between rounds.
struct Machine {
    size_t class_number = 0;
    std::vector<uint32_t> own;     // places of its documents, rising
    std::vector<uint32_t> places;  // of documents with a dual variable above 0, rising
    std::vector<double> duals;
    size_t slot = 0;  // in the table of weights, and among what was found
    int n_rounds = 0, n_passes = 0;
    size_t next_tolerance = 0;
    double tolerance = 0;  // of the last round
    bool is_solved = false;
};

// Classes that are solved together.
class Group {
public:
    Group(const Documents& documents, const Task& task)
        : documents_(documents),
          task_(task),
          looked_(documents, task),
          solved_(documents, task) {
        for (size_t k = 0; k < task.n_threads; ++k) problems_.emplace_back(FeatureSpace(documents));
        for (size_t k = 0; k < task.rows.size(); ++k) {
            const int32_t doc = task.rows.data()[k];
            if (task.doc_cost.data()[doc] > 0) rows_.push_back(doc);
        }
        n_words_ = (rows_.size() + BITS - 1) / BITS;
    }

    // Calls work() for one group of classes after the other, small enough for what they need.
    template <typename Work>
    void for_every_group(Work work) {
        const size_t n_features = documents_.n_columns + documents_.n_block;
        const size_t bytes_a_class = 2 * sizeof(float) * n_features + 16 * rows_.size() + 1;
        const size_t n_fitting = GROUP_BYTES / bytes_a_class / LANES * LANES;
        const size_t n_together = std::min(std::max(n_fitting, LANES), MOST_TOGETHER);
        const std::vector<size_t> order = task_.classes_by_size();
        for (size_t first = 0; first < order.size(); first += n_together) {
            begin(order.data() + first, std::min(n_together, order.size() - first));
            work();
        }
    }

    // The optimum of every class, from where it is: penalty_of(class) is its C, and
    // keep(place in the group, class, space) is called for its weights.
    template <typename PenaltyOf, typename Keep>
    void solve(PenaltyOf penalty_of, Keep keep) {
        for (Machine& machine : machines_) {
            machine.n_rounds = machine.n_passes = 0;
            machine.is_solved = false;
        }
        for (;;) {
            std::atomic<size_t> next{0}, n_slots{0};
            in_threads(std::min(task_.n_threads, machines_.size()), [&](size_t k, Watch& watch) {
                for (size_t c; (c = next++) < machines_.size();) {
                    Machine& machine = machines_[c];
                    if (machine.is_solved) continue;
                    const size_t j = machine.class_number;
                    advance(machine, penalty_of(j), problems_[k], watch);
                    if (machine.is_solved) {
                        keep(c, j, problems_[k].space);
                    } else {
                        machine.slot = n_slots++;  // a score is the same in all of them
                        looked_.put(machine.slot, j, problems_[k].space);
                    }
                }
            });
            if (n_slots == 0) return;
            look(n_slots);
        }
    }

    // The same for one C, then scores (rows, m) of documents, in the columns of these classes.
    void validate(double C, const Vector<int32_t>& rows, float* scores) {
        solved_.resize(machines_.size());
        solve([C](size_t) { return C; },
              [&](size_t c, size_t j, const FeatureSpace& space) { solved_.put(c, j, space); });
        solved_.for_every_score(rows.data(), rows.size(), machines_.size(),
                                [&](size_t place, size_t first_slot, const Line& made) {
                                    const size_t n_slots = machines_.size() - first_slot;
                                    float* into = scores + place * task_.n_classes();
                                    for (size_t j = 0; j < std::min(LANES, n_slots); ++j)
                                        into[machines_[first_slot + j].class_number] =
                                            made.values[j];
                                });
    }

private:
    void begin(const size_t* classes, size_t n_classes) {
        machines_.assign(n_classes, Machine{});
        std::vector<uint8_t> is_positive(task_.n_docs());
        Watch watch;
        for (size_t c = 0; c < n_classes; ++c) {
            machines_[c].class_number = classes[c];
            task_.flag(classes[c], is_positive, 1);
            for (size_t k = 0; k < rows_.size(); ++k)
                if (is_positive[size_t(rows_[k])]) machines_[c].own.push_back(uint32_t(k));
            task_.flag(classes[c], is_positive, 0);
            watch.did(rows_.size());
        }
        looked_.resize(n_classes);
        found_.resize((n_classes + LANES - 1) / LANES * LANES * n_words_);
    }

    // One round: passes over what was found, or what to begin with.
    void advance(Machine& machine, double C, Problem<FeatureSpace>& problem, Watch& watch) {
        const Precision& precision = task_.precision;
        const bool is_first = machine.n_rounds++ == 0, is_warm = !machine.places.empty();
        if (std::max(machine.places.size(), machine.own.size()) > rows_.size() / MANY_OF) {
            solve_all(machine, C, problem, watch);
            return;
        }
        Places chosen(n_words_);
        if (!is_first)
            std::copy_n(found_.data() + machine.slot * n_words_, n_words_, chosen.data());
        else if (!is_warm)
            for (size_t k = 0; k < rows_.size(); k += ONE_OF) insert(chosen, k);
        for (const uint32_t place : machine.own) insert(chosen, place);
        for (const uint32_t place : machine.places) insert(chosen, place);
        take(machine, chosen, problem, watch);
        if (is_first) machine.next_tolerance = is_warm ? 1 : 0;
        const bool saw_all = machine.tolerance <= *std::rbegin(TOLERANCES);  // in the last look
        machine.tolerance = precision.tolerance;
        if (machine.next_tolerance < std::size(TOLERANCES))
            machine.tolerance = std::max(machine.tolerance, TOLERANCES[machine.next_tolerance++]);
        const int limit = problem.passes_before_a_look(machine.n_passes, precision.max_passes);
        const Descent descent = problem.descend(C, machine.tolerance, precision.gap, true,
                                                limit - machine.n_passes, watch);
        machine.n_passes += descent.n_passes;
        keep_duals(machine, problem);
        // nothing that the look found had to move: it was at the solution
        const bool was_solved = !is_first && (descent.first_spread <= precision.tolerance ||
                                              (saw_all && descent.was_close));
        machine.is_solved = was_solved || machine.n_passes >= precision.max_passes;
        const auto n_duals = double(machine.places.size());
        const bool are_many = n_duals > MANY * double(problem.candidates.size());
        if (is_first && are_many && !machine.is_solved) solve_all(machine, C, problem, watch);
    }

    // Nearly all documents count, so that there is nothing to look for.
    void solve_all(Machine& machine, double C, Problem<FeatureSpace>& problem, Watch& watch) {
        take(machine, Places(n_words_, ~uint64_t{0}), problem, watch);
        problem.solve(C, task_.precision, watch);
        keep_duals(machine, problem);
        machine.is_solved = true;
    }

    // Begin a problem with chosen documents, all that have dual variables among them.
    void take(const Machine& machine, const Places& chosen, Problem<FeatureSpace>& problem,
              Watch& watch) {
        problem.begin();
        size_t n_own = 0, n_duals = 0;
        for (size_t place = 0; place < rows_.size(); ++place) {
            const uint64_t rest = chosen[place / BITS] >> (place % BITS);
            if (rest == 0) place |= BITS - 1;
            if ((rest & 1) == 0) continue;
            while (n_own < machine.own.size() && machine.own[n_own] < place) ++n_own;
            const bool is_own = n_own < machine.own.size() && machine.own[n_own] == place;
            Candidate each = task_.candidate(place, rows_[place], machine.class_number, is_own);
            if (each.cost == 0) continue;  // as if not there
            if (n_duals < machine.places.size() && machine.places[n_duals] == place)
                each.dual = machine.duals[n_duals++];
            problem.take(each);
            watch.did(documents_.n_steps());
        }
    }

    static void keep_duals(Machine& machine, const Problem<FeatureSpace>& problem) {
        machine.places.clear();
        machine.duals.clear();
        for (const Candidate& each : problem.candidates) {
            if (each.dual == 0) continue;
            machine.places.push_back(each.place);
            machine.duals.push_back(each.dual);
        }
    }

    // Finds the documents that violate the margin, taking all for documents of other classes.
    void look(size_t n_slots) {
        std::vector<Line> limits(n_slots / LANES + 1);
        for (const Machine& machine : machines_)
            if (!machine.is_solved)
                limits[machine.slot / LANES].values[machine.slot % LANES] =
                    float(FOUND * machine.tolerance - 1);
        std::fill(found_.begin(), found_.end(), uint64_t{0});
        looked_.for_every_score(rows_.data(), rows_.size(), n_slots,
                                [&](size_t place, size_t first_slot, const Line& made) {
                                    uint64_t* word =
                                        found_.data() + first_slot * n_words_ + place / BITS;
                                    const Line& highest = limits[first_slot / LANES];
                                    for (size_t j = 0; j < LANES; ++j, word += n_words_) {
                                        // what is no number is found, and looked at once more
                                        const bool is_right = made.values[j] <= highest.values[j];
                                        *word |= uint64_t{!is_right} << (place % BITS);
                                    }
                                });
    }

    const Documents& documents_;
    const Task& task_;
    WeightTable looked_, solved_;
    size_t n_words_;
    std::vector<Problem<FeatureSpace>> problems_;  // one per thread
    std::vector<int32_t> rows_;                    // whose errors cost something
    std::vector<Machine> machines_;
    std::vector<uint64_t> found_;  // the places that were found, slot after slot
};

inline bool are_worth_looks(const Task& task) {
    return task.rows.size() >= MANY_DOCS && task.n_classes() >= MANY_CLASSES;
}

// --- solutions -----------------------------------------------------------------------------------

// What every solution has: own weights (m) and intercepts (m).
struct Ends {
    explicit Ends(size_t m) : own_weights(m), intercepts(m) {}
    Output<float> own_weights, intercepts;

    template <typename Space>
    void take(size_t j, const Space& space) {
        own_weights.data()[j] = float(space.own_weight);
        intercepts.data()[j] = float(space.intercept);
    }
};

// Weights of the sparse columns (v x m) and of the block (k x m), then the ends.
nb::tuple solve(const Documents& documents, const Task& task) {
    const size_t m = task.n_classes(), v = documents.n_columns, n_block = documents.n_block;
    check(documents.n_docs == task.n_docs(), "the task is about other documents");
    check(task.C.size() == m, "expected one C per class");
    Output<float> weights(v, m), block_weights(n_block, m);
    Ends ends(m);
    const auto keep = [&](size_t j, const FeatureSpace& space) {
        ends.take(j, space);
        for (size_t t = 0; t < v; ++t) weights.data()[t * m + j] = float(space.weights()[t]);
        for (size_t t = 0; t < n_block; ++t)
            block_weights.data()[t * m + j] = float(space.block_weights()[t]);
    };
    {
        nb::gil_scoped_release no_gil;
        if (!are_worth_looks(task)) {
            for_every_class(
                task, [&]() { return FeatureSpace(documents); },
                [&](size_t j, Problem<FeatureSpace>& problem, Watch& watch) {
                    problem.solve(task.C.data()[j], task.precision, watch);
                    keep(j, problem.space);
                });
        } else {
            Group group(documents, task);
            group.for_every_group([&]() {
                group.solve([&](size_t j) { return task.C.data()[j]; },
                            [&](size_t, size_t j, const FeatureSpace& space) { keep(j, space); });
            });
        }
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
            task, [&]() { return DocumentSpace(products.data(), n); },
            [&](size_t j, Problem<DocumentSpace>& problem, Watch& watch) {
                problem.solve(task.C.data()[j], task.precision, watch);
                ends.take(j, problem.space);
                for (const Candidate& each : problem.candidates)
                    coefficients.data()[size_t(each.doc) * m + j] = float(each.dual * each.sign);
            });
    }
    return nb::make_tuple(coefficients.handed_over(), ends.own_weights.handed_over(),
                          ends.intercepts.handed_over());
}

// Scores (number of C, test rows, m) of documents that were not learned from, for each C, each
// solution the start of the next. No weights are kept.
template <typename MakeSpace>
void validate_each(const Task& task, const Vector<int32_t>& test_rows, MakeSpace make_space,
                   float* scores) {
    const size_t m = task.n_classes(), n_tests = test_rows.size();
    for_every_class(task, make_space, [&](size_t j, auto& problem, Watch& watch) {
        for (size_t c = 0; c < task.C.size(); ++c) {
            problem.solve(task.C.data()[c], task.precision, watch);
            float* into = scores + c * n_tests * m + j;
            for (size_t k = 0; k < n_tests; ++k) {
                const auto doc = size_t(test_rows.data()[k]);
                into[k * m] = float(problem.space.score(doc, task.own_value(doc, j)));
                watch.did(problem.space.n_steps());
            }
        }
    });
}

Array<float> validate(const Documents& documents, const Task& task, Vector<int32_t> test_rows) {
    check(documents.n_docs == task.n_docs(), "the task is about other documents");
    check_indices(test_rows, task.n_docs());
    const size_t m = task.n_classes(), n_tests = test_rows.size();
    Output<float> scores(task.C.size(), n_tests, m);
    {
        nb::gil_scoped_release no_gil;
        if (!are_worth_looks(task)) {
            validate_each(
                task, test_rows, [&]() { return FeatureSpace(documents); }, scores.data());
        } else {
            Group group(documents, task);
            group.for_every_group([&]() {
                for (size_t c = 0; c < task.C.size(); ++c)
                    group.validate(task.C.data()[c], test_rows, scores.data() + c * n_tests * m);
            });
        }
    }
    return scores.handed_over();
}

Array<float> validate_products(Table<float> products, const Task& task, Vector<int32_t> test_rows) {
    check_products(products, task);
    check_indices(test_rows, task.n_docs());
    Output<float> scores(task.C.size(), test_rows.size(), task.n_classes());
    {
        nb::gil_scoped_release no_gil;
        validate_each(
            task, test_rows, [&]() { return DocumentSpace(products.data(), task.n_docs()); },
            scores.data());
    }
    return scores.handed_over();
}

// --- prediction ----------------------------------------------------------------------------------

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
                    float* row = product.data() + doc * m;
                    std::copy_n(intercept.data(), m, row);
                    const int64_t start = starts.data()[doc], n = starts.data()[doc + 1] - start;
                    add_weighted_rows(values.data() + start, columns.data() + start, n,
                                      weights.data(), row, m);
                    watch.did(size_t(n + 1) * (m / 4 + 1));
                }
            }
        });
    }
    return product.handed_over();
}

// X W + intercept (rows x m) of some rows of X, where W is sparse: `terms` are those of its rows
// that have weights, rising, and the weights of the k-th begin at ends[k].
Array<float> multiply_pruned(Vector<double> values, Vector<int32_t> columns, Vector<int64_t> starts,
                             Vector<int32_t> rows, Vector<int32_t> terms, Vector<int64_t> ends,
                             Vector<int32_t> classes, Vector<float> weights,
                             Vector<float> intercept, size_t n_columns) {
    const size_t m = intercept.size();
    check_csr(starts, columns, n_columns);
    check_csr(ends, classes, m);
    check(values.size() == columns.size(), "expected one value per column index");
    check(weights.size() == classes.size(), "expected one weight per class index");
    check(ends.size() == terms.size() + 1, "expected one term per row of weights");
    check_indices(rows, starts.size() - 1);
    check_indices(terms, n_columns);
    Output<float> product(rows.size(), m);
    {
        nb::gil_scoped_release no_gil;
        Watch watch;
        std::vector<int32_t> places(n_columns, -1);
        for (size_t k = 0; k < terms.size(); ++k) places[size_t(terms.data()[k])] = int32_t(k);
        for (size_t r = 0; r < rows.size(); ++r) {
            float* __restrict row = product.data() + r * m;
            std::copy_n(intercept.data(), m, row);
            const auto doc = size_t(rows.data()[r]);
            for (int64_t k = starts.data()[doc]; k < starts.data()[doc + 1]; ++k) {
                const int32_t place = places[size_t(columns.data()[k])];
                if (place < 0) continue;
                const auto value = float(values.data()[k]);
                const int64_t end = ends.data()[place + 1];
                for (int64_t j = ends.data()[place]; j < end; ++j)
                    row[classes.data()[j]] += value * weights.data()[j];
                watch.did(size_t(end - ends.data()[place]) + 4);
            }
        }
    }
    return product.handed_over();
}

// X T (n x m) of two sparse matrices, as a dense one: the sums of a row stay in the cache.
Array<double> multiply_sparse(Vector<double> values, Vector<int32_t> columns,
                              Vector<int64_t> starts, Vector<double> table_values,
                              Vector<int32_t> table_columns, Vector<int64_t> table_starts,
                              size_t n_columns) {
    check_csr(table_starts, table_columns, n_columns);
    check_csr(starts, columns, table_starts.size() - 1);
    check(values.size() == columns.size() && table_values.size() == table_columns.size(),
          "expected one value per column index");
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
            watch.did(n_steps);
        }
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
    module.def("multiply_pruned", &multiply_pruned);
    module.def("multiply_sparse", &multiply_sparse);
}

}  // namespace solver

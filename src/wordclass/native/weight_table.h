// The weights of many classes side by side, and scores of documents for 16 classes at a time.

#pragma once

#include "one_vs_rest.h"

namespace solver {

constexpr size_t LANES = 16;  // classes with weights of a feature in the same cache line
constexpr size_t BITS = 64;
constexpr size_t DOCS_PER_TASK = 16 * BITS;
constexpr size_t MAX_CLASSES_PER_GROUP = 128;
constexpr size_t GROUP_BYTES = size_t{1} << 28;

struct alignas(64) Line {
    float values[LANES];
};

// Add the contributions of a document's features to the scores of the classes of a line.
void add_scores(const Documents& documents, size_t doc, const Line* weights, Line& scores);

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

    // Call work(row, first slot, scores of 16 slots) for some documents and slots, in threads. All
    // 64 rows of a word of bits belong to one thread.
    template <typename Work>
    void for_each_score(const int32_t* rows, size_t n_rows, size_t n_slots, Work work) const {
        const size_t n_tiles = (n_slots + LANES - 1) / LANES;
        const size_t n_parts = (n_rows + DOCS_PER_TASK - 1) / DOCS_PER_TASK;
        const size_t n_threads = std::min(task_.n_threads, std::max<size_t>(n_parts * n_tiles, 1));
        const bool has_own = task_.own.shape(1) > 0;
        std::atomic<size_t> next{0};
        run_in_threads(n_threads, [&](size_t, Watch& watch) {
            for (size_t part; (part = next++) < n_parts * n_tiles;) {
                const size_t t = part / n_parts, first = part % n_parts * DOCS_PER_TASK;
                const Tile& tile = tiles_[t];
                for (size_t k = first; k < std::min(first + DOCS_PER_TASK, n_rows); ++k) {
                    const auto doc = size_t(rows[k]);
                    Line scores = tile.intercepts;
                    add_scores(documents_, doc, lines_.data() + t * n_lines_, scores);
                    for (size_t j = 0; has_own && j < LANES; ++j)
                        scores.values[j] +=
                            tile.own_weights.values[j] * task_.own_value(doc, tile.classes[j]);
                    work(k, t * LANES, scores);
                    watch.add_steps(documents_.n_steps() * 2);
                }
            }
        });
    }

private:
    // The intercepts and the weights of own features of the classes of a line.
    struct Tile {
        Line intercepts{}, own_weights{};
        size_t classes[LANES]{};
    };

    const Documents& documents_;
    const Task& task_;
    size_t n_lines_;
    std::vector<Tile> tiles_;
    std::vector<Line, Allocator<Line>> lines_;  // of all tiles, one tile after the other
};

}  // namespace solver

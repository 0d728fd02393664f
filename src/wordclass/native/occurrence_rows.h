// Turns counts into the rows of a sparse matrix, as occurrences or tf-idf weights.

#pragma once

#include <cmath>

#include "term_counts.h"

namespace engine {

// The limits of documents that are sorted together, whose entries fit into the cache.
constexpr size_t MAX_ROWS_PER_SORT = 4096, MIN_ENTRIES_PER_SORT = size_t{1} << 17;

// Replace ids by columns, drop entries without a column, and write the sizes of rows.
inline void replace_ids_by_columns(Chunk& chunk, const std::vector<int32_t>& column_of,
                                   int64_t* row_sizes) {
    size_t entry = 0, n_written = 0;
    for (size_t row = 0; row < chunk.ends.size(); ++row) {
        const size_t start = n_written;
        for (; entry < chunk.ends[row]; ++entry) {
            const int32_t column = column_of[chunk.entries[entry].id];
            chunk.entries[n_written] = {Id(column), chunk.entries[entry].count};
            n_written += column >= 0;
        }
        row_sizes[row] = int64_t(n_written - start);
        chunk.ends[row] = n_written;
    }
}

// Two weightings: the count itself, and sublinear tf-idf with rows of length 1, with the order of
// additions of text/weightings/_unit_rows.py.
struct Counts {
    using Value = int32_t;
    Value operator()(size_t, uint32_t count) const { return Value(count); }
    void finish_row(Value*, size_t) const {}
};

struct Tfidf {
    using Value = double;
    const double *idf, *damped;
    size_t n_damped;

    Tfidf(const Vector<double>& idf, const Vector<double>& damped)
        : idf(idf.data()),
          damped(damped.data()),
          n_damped(damped.size()) {}

    Value operator()(size_t column, uint32_t count) const {
        return (count < n_damped ? damped[count] : 1 + std::log(double(count))) * idf[column];
    }
    void finish_row(Value* row, size_t n) const {
        double squares = 0;
        for (size_t k = 0; k < n; ++k) squares += row[k] * row[k];
        // all idf values of a document may be 0
        const double length = squares > 0 ? std::sqrt(squares) : 1;
        for (size_t k = 0; k < n; ++k) row[k] /= length;
    }
};

// Writes the rows of a chunk to a CSR matrix with ascending columns within each row.
template <typename Weighting>
class RowWriter {
public:
    using Value = typename Weighting::Value;

    RowWriter(size_t n_columns, const Weighting& weighting, int32_t* columns, Value* values,
              Watch& watch)
        : n_columns_(n_columns),
          weighting_(weighting),
          columns_(columns),
          values_(values),
          watch_(watch) {}

    // Write a chunk whose ids are columns. Row k starts at row_starts[k] of the matrix.
    void write(Chunk& chunk, const int64_t* row_starts) {
        const size_t n_rows = chunk.ends.size();
        for (size_t first = 0, last = 0; first < n_rows; first = last) {
            const size_t start = first == 0 ? 0 : chunk.ends[first - 1];
            const size_t limit = start + std::max(n_columns_, MIN_ENTRIES_PER_SORT);
            while (last < n_rows && last < first + MAX_ROWS_PER_SORT && chunk.ends[last] <= limit)
                ++last;
            last = std::max(last, first + 1);
            watch_.add_steps(10 * (chunk.ends[last - 1] - start) + last - first);
            if (chunk.ends[last - 1] - start < n_columns_ / 8)
                sort_each_row(chunk, first, last, start, row_starts);
            else
                sort_by_two_passes(chunk, first, last, start, row_starts);
            for (size_t row = first; row < last; ++row)
                weighting_.finish_row(values_ + row_starts[row],
                                      size_t(row_starts[row + 1] - row_starts[row]));
        }
    }

private:
    void write_entry(int64_t position, size_t column, uint32_t count) {
        columns_[position] = int32_t(column);
        values_[position] = weighting_(column, count);
    }

    void sort_each_row(Chunk& chunk, size_t first, size_t last, size_t start,
                       const int64_t* row_starts) {
        for (size_t row = first; row < last; ++row) {
            Entry* begin = chunk.entries.data() + start;
            Entry* end = chunk.entries.data() + chunk.ends[row];
            std::sort(begin, end, [](const Entry& a, const Entry& b) { return a.id < b.id; });
            int64_t position = row_starts[row];
            for (const Entry* entry = begin; entry != end; ++entry)
                write_entry(position++, entry->id, entry->count);
            start = chunk.ends[row];
        }
    }

    // Sort the entries into buckets by column, then write the buckets to the rows in the order of
    // columns. There are no comparisons, and the rows are few enough for the cache.
    void sort_by_two_passes(const Chunk& chunk, size_t first, size_t last, size_t start,
                            const int64_t* row_starts) {
        const Entry* entries = chunk.entries.data();
        const size_t end = chunk.ends[last - 1];
        bucket_ends_.assign(n_columns_ + 1, 0);
        for (size_t entry = start; entry < end; ++entry) ++bucket_ends_[entries[entry].id + 1];
        for (size_t column = 1; column <= n_columns_; ++column)
            bucket_ends_[column] += bucket_ends_[column - 1];
        cells_.resize(end - start);
        size_t entry = start;
        for (size_t row = first; row < last; ++row)
            for (; entry < chunk.ends[row]; ++entry)
                cells_[bucket_ends_[entries[entry].id]++] = {uint32_t(row - first),
                                                             entries[entry].count};
        // after this loop, the bucket of a column ends where the next one starts
        next_.assign(row_starts + first, row_starts + last);
        size_t cell = 0;
        for (size_t column = 0; column < n_columns_; ++column)
            for (; cell < bucket_ends_[column]; ++cell)
                write_entry(next_[cells_[cell].row]++, column, cells_[cell].count);
    }

    struct Cell {
        uint32_t row, count;
    };

    size_t n_columns_;
    Weighting weighting_;
    int32_t* columns_;
    Value* values_;
    Watch& watch_;
    std::vector<Cell> cells_;
    std::vector<uint32_t> bucket_ends_;
    std::vector<int64_t> next_;
};

// The terms of one document that have a column, weighted by tf-idf.
struct WeightedDocument {
    static constexpr size_t ENTRIES_AHEAD = 8;

    std::vector<int32_t> columns;
    std::vector<uint32_t> counts;
    std::vector<double> weights;
    size_t size = 0;

    void weigh(const Entry* entries, size_t n, const std::vector<int32_t>& column_of,
               const Tfidf& weighting) {
        if (columns.size() < n) {
            columns.resize(2 * n);
            counts.resize(2 * n);
            weights.resize(2 * n);
        }
        size = 0;
        for (size_t entry = 0; entry < n; ++entry) {
            if (entry + ENTRIES_AHEAD < n) prefetch(&column_of[entries[entry + ENTRIES_AHEAD].id]);
            const int32_t column = column_of[entries[entry].id];
            if (column < 0) continue;
            prefetch(weighting.idf + column);
            columns[size] = column;
            counts[size++] = entries[entry].count;
        }
        for (size_t k = 0; k < size; ++k) weights[k] = weighting(size_t(columns[k]), counts[k]);
        weighting.finish_row(weights.data(), size);
    }
};

// The documents that one thread counted, with its own ids and the column of each id.
struct Share {
    std::vector<Chunk> chunks;
    std::shared_ptr<const std::vector<int32_t>>
        column_of;  // shared by threads, because a vocabulary is much larger than a text
};

// Write the rows of all shares, with one thread per share. A chunk is freed when it is written,
// because the chunks of a million documents take as much memory as the matrix.
template <typename Weighting>
Csr<typename Weighting::Value> write_rows(std::vector<Share>& shares, size_t n_columns,
                                          const Weighting& weighting) {
    std::vector<size_t> first_row(shares.size() + 1, 0);
    for (size_t part = 0; part < shares.size(); ++part) {
        first_row[part + 1] = first_row[part];
        for (const Chunk& chunk : shares[part].chunks) first_row[part + 1] += chunk.ends.size();
    }
    const size_t n_rows = first_row.back();
    Output<int64_t> ends(n_rows + 1);
    run_in_threads(shares.size(), [&](size_t part, Watch& watch) {
        int64_t* sizes = ends.data() + 1 + first_row[part];
        for (Chunk& chunk : shares[part].chunks) {
            watch.add_steps(4 * chunk.size());
            replace_ids_by_columns(chunk, *shares[part].column_of, sizes);
            sizes += chunk.ends.size();
        }
    });
    ends.data()[0] = 0;
    for (size_t row = 0; row < n_rows; ++row) ends.data()[row + 1] += ends.data()[row];
    const auto n_values = size_t(ends.data()[n_rows]);
    Output<typename Weighting::Value> values(n_values);
    Output<int32_t> columns(n_values);
    run_in_threads(shares.size(), [&](size_t part, Watch& watch) {
        RowWriter<Weighting> writer(n_columns, weighting, columns.data(), values.data(), watch);
        const int64_t* starts = ends.data() + first_row[part];
        for (Chunk& chunk : shares[part].chunks) {
            writer.write(chunk, starts);
            starts += chunk.ends.size();
            chunk.entries = EntryBuffer();
        }
    });
    return {std::move(values), std::move(columns), std::move(ends)};
}

}  // namespace engine

// The convolution of a CNN over texts, and the largest response of every filter in every text.
//
// A filter of width w at position p of a text responds with a sum over the w words below it. The
// addend of a word at offset j of the filter does not depend on its neighbors. Therefore it is
// computed once for each distinct word (the "table") and summed here, position by position. Addends
// that differ from token to token, such as those of columns with dropout, form a second array
// ("tokens").
//
// The columns of both arrays are ordered by window, by the offset j = 0..w-1 in the filter and by
// channel. Only the position of the largest response has a gradient, so the backward pass visits
// few rows.

#include "shared.h"

namespace convolution {
namespace {

// --- filters and texts ---------------------------------------------------------------------------

constexpr size_t MAX_COLUMNS = size_t{1} << 31;  // also of tokens; their numbers have 32 bits

// The widths of the filters, and the first column of each.
struct Filters {
    std::vector<int64_t> windows;
    std::vector<size_t> first_columns;
    size_t channels, n_columns = 0;

    Filters(const Vector<int64_t>& widths, int64_t n_channels)
        : windows(widths.data(), widths.data() + widths.size()),
          channels(size_t(n_channels)) {
        check(!windows.empty() && n_channels > 0,
              "there are no windows or channels; expected at least one of each");
        check(channels < MAX_COLUMNS, "too many channels");
        for (const int64_t window : windows) {
            check(window > 0, "a window has a width below 1");
            check(size_t(window) < MAX_COLUMNS / channels, "a window is too wide");
            first_columns.push_back(n_columns);
            n_columns += size_t(window) * channels;
            check(n_columns < MAX_COLUMNS, "too many windows");
        }
    }
    size_t n_outputs() const { return windows.size() * channels; }
    int64_t widest() const { return *std::max_element(windows.begin(), windows.end()); }
};

// Check texts whose words are numbers of `n_words` rows, if there are rows.
void check_texts(const Vector<int32_t>& words, const Vector<int64_t>& ends, bool has_rows,
                 size_t n_words) {
    check(words.size() < MAX_COLUMNS, "too many tokens");
    check_csr(ends, words, has_rows ? n_words : MAX_COLUMNS);
}

// --- the largest responses -----------------------------------------------------------------------

constexpr int ROWS_PER_PASS = 8;  // rows that are added in one pass over the sums

template <int N>
void add_rows(const float* const* rows, float* __restrict sums, size_t n) {
    const float* sources[N];
    for (int k = 0; k < N; ++k) sources[k] = rows[k];
    for (size_t c = 0; c < n; ++c) {
        float sum = sources[0][c];
        for (int k = 1; k < N; ++k) sum += sources[k][c];
        sums[c] += sum;
    }
}

template <int N = 1>
void add_some_rows(const float* const* rows, size_t n_rows, float* sums, size_t n) {
    if constexpr (N < ROWS_PER_PASS)
        if (n_rows > N) return add_some_rows<N + 1>(rows, n_rows, sums, n);
    add_rows<N>(rows, sums, n);
}

void keep_greater(const float* __restrict sums, int32_t position, float* __restrict largest,
                  int32_t* __restrict positions, size_t n) {
    for (size_t c = 0; c < n; ++c) {
        const bool is_greater = sums[c] > largest[c];
        largest[c] = is_greater ? sums[c] : largest[c];
        positions[c] = is_greater ? position : positions[c];
    }
}

// The tokens of a text, and the number of zeros that are read before it.
struct Text {
    const int32_t* words;
    const float* tokens;  // the row of its first token
    int64_t length, left_padding;
};

class Responses {
public:
    Responses(const Filters& filters, const float* table, bool has_tokens, const float* bias,
              Watch& watch)
        : filters_(filters),
          table_(table),
          has_tokens_(has_tokens),
          bias_(bias),
          watch_(watch),
          sums_(filters.channels) {}

    void strongest(const Text& text, float* largest, int32_t* positions) {
        const size_t channels = filters_.channels;
        for (size_t g = 0; g < filters_.windows.size(); ++g) {
            const int64_t first = -text.left_padding;
            const int64_t last = std::max(first, text.length - filters_.windows[g]);
            compute_sums(text, g, first);
            std::copy_n(sums_.data(), channels, largest + g * channels);
            std::fill_n(positions + g * channels, channels, int32_t(first));
            for (int64_t position = first + 1; position <= last; ++position) {
                compute_sums(text, g, position);
                keep_greater(sums_.data(), int32_t(position), largest + g * channels,
                             positions + g * channels, channels);
            }
        }
    }

private:
    void compute_sums(const Text& text, size_t g, int64_t position) {
        const size_t channels = filters_.channels, n_columns = filters_.n_columns;
        const int64_t first_token = std::max<int64_t>(position, 0);
        const int64_t end_token = std::min(position + filters_.windows[g], text.length);
        const size_t max_rows = 2 * size_t(std::max<int64_t>(end_token - first_token, 0));
        if (rows_.size() < max_rows) rows_.resize(max_rows);
        size_t n_rows = 0;
        for (int64_t t = first_token; t < end_token; ++t) {
            const size_t column = filters_.first_columns[g] + size_t(t - position) * channels;
            if (table_) rows_[n_rows++] = table_ + size_t(text.words[t]) * n_columns + column;
            if (has_tokens_) rows_[n_rows++] = text.tokens + size_t(t) * n_columns + column;
        }
        std::copy_n(bias_ + g * channels, channels, sums_.data());
        watch_.add_steps((n_rows + 1) * (channels / 4 + 1));
        for (size_t k = 0; k < n_rows; k += ROWS_PER_PASS)
            add_some_rows(rows_.data() + k, std::min<size_t>(ROWS_PER_PASS, n_rows - k),
                          sums_.data(), channels);
    }

    const Filters& filters_;
    const float* table_;  // nullptr if there is no table of words
    bool has_tokens_;
    const float* bias_;
    Watch& watch_;
    std::vector<float> sums_;         // of one position
    std::vector<const float*> rows_;  // the addends of that position
};

nb::tuple strongest(Table<float> table, Vector<int32_t> words, Table<float> tokens,
                    Vector<int64_t> ends, Vector<int64_t> windows, int64_t channels,
                    Vector<float> bias, Vector<int64_t> left_padding, int64_t n_threads) {
    const Filters filters(windows, channels);
    const bool has_table = table.shape(1) > 0, has_tokens = tokens.shape(1) > 0;
    check_texts(words, ends, has_table, table.shape(0));
    const size_t n_texts = ends.size() - 1, n_outputs = filters.n_outputs();
    check(!has_table || table.shape(1) == filters.n_columns,
          "the table of words and the windows differ in their columns");
    check(!has_tokens || tokens.shape(1) == filters.n_columns,
          "the table of tokens and the windows differ in their columns");
    check(tokens.shape(0) == words.size(), "expected one row of tokens per word");
    check(bias.size() == n_outputs,
          "the number of biases is wrong; expected one per window and channel");
    check(left_padding.size() == n_texts, "the numbers of texts and of left paddings differ");
    check(std::all_of(left_padding.data(), left_padding.data() + n_texts,
                      [](int64_t zeros) { return zeros >= 0; }),
          "a left padding is negative");
    const size_t n_used = limit_threads(n_threads, n_texts);
    Output<float> largest(n_texts, n_outputs);
    Output<int32_t> positions(n_texts, n_outputs);
    {
        nb::gil_scoped_release no_gil;
        std::atomic<size_t> next{0};
        run_in_threads(n_used, [&](size_t, Watch& watch) {
            Responses responses(filters, has_table ? table.data() : nullptr, has_tokens,
                                bias.data(), watch);
            for (size_t i; (i = next++) < n_texts;) {
                const int64_t start = ends.data()[i];
                // zeros beyond the width of the widest window do not change a maximum
                const Text text{
                    words.data() + start, tokens.data() + size_t(start) * tokens.shape(1),
                    ends.data()[i + 1] - start, std::min(left_padding.data()[i], filters.widest())};
                responses.strongest(text, largest.data() + i * n_outputs,
                                    positions.data() + i * n_outputs);
            }
        });
    }
    return nb::make_tuple(largest.to_numpy(), positions.to_numpy());
}

// --- gradients -----------------------------------------------------------------------------------

// One token below one filter at its largest response.
struct Hit {
    float slope;
    int32_t column;
    int64_t token;
};

// Return all hits, sorted by filter, so that its weights stay in the cache.
std::vector<Hit> collect_hits(const Filters& filters, const float* slopes, const int32_t* positions,
                              const int64_t* ends, size_t n_texts) {
    Watch watch;
    std::vector<Hit> hits;
    const size_t n_outputs = filters.n_outputs(), channels = filters.channels;
    for (size_t output = 0; output < n_outputs; ++output) {
        const size_t g = output / channels, channel = output % channels;
        for (size_t i = 0; i < n_texts; ++i) {
            watch.add_steps(1 + size_t(filters.windows[g]));
            const float slope = slopes[i * n_outputs + output];
            if (slope == 0) continue;
            const int64_t position = positions[i * n_outputs + output];
            const int64_t length = ends[i + 1] - ends[i];
            const int64_t end_token = std::min(position + filters.windows[g], length);
            for (int64_t t = std::max<int64_t>(position, 0); t < end_token; ++t) {
                const size_t column =
                    filters.first_columns[g] + size_t(t - position) * channels + channel;
                hits.push_back({slope, int32_t(column), ends[i] + t});
            }
        }
    }
    return hits;
}

void add_scaled(float factor, const float* __restrict source, float* __restrict target, size_t n) {
    for (size_t d = 0; d < n; ++d) target[d] += factor * source[d];
}

// One kind of input, by word or by token: a response is a sum of products of rows and weights.
struct Product {
    Table<float> rows, weights;
    Output<float> row_slopes, weight_slopes;
    bool needs_rows;

    Product(const Table<float>& input_rows, const Table<float>& input_weights, bool needs_rows)
        : rows(input_rows),
          weights(input_weights),
          row_slopes(needs_rows ? input_rows.shape(0) : 0, input_rows.shape(1)),
          weight_slopes(input_weights.shape(0), input_weights.shape(1)),
          needs_rows(needs_rows) {
        check(rows.shape(1) == weights.shape(1),
              "the rows and the weights differ in their columns");
    }
    size_t n_dims() const { return rows.shape(1); }
    void begin() {
        std::fill_n(row_slopes.data(), needs_rows ? rows.size() : 0, 0.0f);
        std::fill_n(weight_slopes.data(), weights.size(), 0.0f);
    }
    // Add the gradient of one hit in some dimensions. Other threads add it in the others.
    void add(const Hit& hit, size_t row, size_t first, size_t n) {
        const size_t in_rows = row * n_dims() + first;
        const size_t in_weights = size_t(hit.column) * n_dims() + first;
        add_scaled(hit.slope, rows.data() + in_rows, weight_slopes.data() + in_weights, n);
        if (needs_rows)
            add_scaled(hit.slope, weights.data() + in_weights, row_slopes.data() + in_rows, n);
    }
};

constexpr size_t LINE = 16;  // numbers in a cache line, which only one thread writes

// Return the first and the end of the dimensions that a thread works on.
std::pair<size_t, size_t> dimensions_of_thread(size_t n_dims, size_t thread, size_t n_threads) {
    const size_t n_lines = (n_dims + LINE - 1) / LINE;
    const size_t first = n_lines * thread / n_threads * LINE;
    const size_t last = n_lines * (thread + 1) / n_threads * LINE;
    return {std::min(first, n_dims), std::min(last, n_dims)};
}

nb::tuple gradients(Table<float> slopes, Table<int32_t> positions, Vector<int32_t> words,
                    Vector<int64_t> ends, Vector<int64_t> windows, int64_t channels,
                    Table<float> word_rows, Table<float> token_rows, Table<float> word_weights,
                    Table<float> token_weights, bool needs_words, bool needs_tokens,
                    int64_t n_threads) {
    const Filters filters(windows, channels);
    check_texts(words, ends, word_rows.shape(1) > 0, word_rows.shape(0));
    const size_t n_texts = ends.size() - 1, n_outputs = filters.n_outputs();
    check(slopes.shape(0) == n_texts && slopes.shape(1) == n_outputs &&
              positions.shape(0) == n_texts && positions.shape(1) == n_outputs,
          "the slopes or positions have a wrong shape; expected one per text, window and channel");
    check(word_weights.shape(0) == filters.n_columns && token_weights.shape(0) == filters.n_columns,
          "the number of weights is wrong; expected one row per column of the windows");
    check(token_rows.shape(0) == words.size(), "expected one row of tokens per word");
    const size_t max_dims = std::max(word_rows.shape(1), token_rows.shape(1));
    const size_t n_used = limit_threads(n_threads, (max_dims + LINE - 1) / LINE);
    Product of_words(word_rows, word_weights, needs_words);
    Product of_tokens(token_rows, token_weights, needs_tokens);
    {
        nb::gil_scoped_release no_gil;
        of_words.begin();
        of_tokens.begin();
        const auto hits =
            collect_hits(filters, slopes.data(), positions.data(), ends.data(), n_texts);
        run_in_threads(n_used, [&](size_t thread, Watch& watch) {
            const auto [first, last] = dimensions_of_thread(of_words.n_dims(), thread, n_used);
            const auto [t_first, t_last] = dimensions_of_thread(of_tokens.n_dims(), thread, n_used);
            const size_t n_steps = (last - first + t_last - t_first) / 2 + 8;
            for (const Hit& hit : hits) {
                watch.add_steps(n_steps);
                if (first < last)
                    of_words.add(hit, size_t(words.data()[hit.token]), first, last - first);
                if (t_first < t_last)
                    of_tokens.add(hit, size_t(hit.token), t_first, t_last - t_first);
            }
        });
    }
    return nb::make_tuple(of_words.weight_slopes.to_numpy(), of_tokens.weight_slopes.to_numpy(),
                          of_words.row_slopes.to_numpy(), of_tokens.row_slopes.to_numpy());
}

}  // namespace

void bind(nb::module_ module) {
    module.def("strongest", &strongest);
    module.def("gradients", &gradients);
}

}  // namespace convolution

// The convolution of a CNN over texts, and the greatest response of every filter in every text.
//
// A filter of width w that stands at place p of a text responds with a sum over the w words below
// it, and what a word adds at place j of the filter does not depend on its neighbors. So it is
// computed once for each distinct word (the "table") and summed here, place by place. What differs
// from token to token, such as dropped-out columns, comes as a second array ("tokens").
//
// Columns of both: window after window, in it place j = 0..w-1 of the filter, in it the channels.
// Only the place of the greatest response has a gradient, so the way back is a short list of rows.

#include "shared.h"

namespace convolution {
namespace {

// --- filters and texts ---------------------------------------------------------------------------

constexpr size_t MAX_COLUMNS = size_t{1} << 31;  // and tokens: places are numbers of 32 bits

// The widths of the filters, and where the columns of each begin.
struct Filters {
    std::vector<int64_t> windows;
    std::vector<size_t> first_columns;
    size_t channels, n_columns = 0;

    Filters(const Vector<int64_t>& given, int64_t n_channels)
        : windows(given.data(), given.data() + given.size()),
          channels(size_t(n_channels)) {
        check(!windows.empty() && n_channels > 0, "expected one window or more, and channels");
        check(channels < MAX_COLUMNS, "too many channels");
        for (const int64_t window : windows) {
            check(window > 0, "a window is no wider than 0");
            check(size_t(window) < MAX_COLUMNS / channels, "too wide a window");
            first_columns.push_back(n_columns);
            n_columns += size_t(window) * channels;
            check(n_columns < MAX_COLUMNS, "too many windows");
        }
    }
    size_t n_outputs() const { return windows.size() * channels; }
    int64_t widest() const { return *std::max_element(windows.begin(), windows.end()); }
};

// `n_words` is the number of rows that words may name, where they name rows at all.
void check_texts(const Vector<int32_t>& words, const Vector<int64_t>& ends, bool has_rows,
                 size_t n_words) {
    check(words.size() < MAX_COLUMNS, "too many tokens");
    check_csr(ends, words, has_rows ? n_words : MAX_COLUMNS);
}

// --- the greatest responses ----------------------------------------------------------------------

constexpr int TOGETHER = 8;  // so many addends need one pass over the sums

template <int N>
void add_rows(const float* const* rows, float* __restrict sums, size_t n) {
    const float* from[N];
    for (int k = 0; k < N; ++k) from[k] = rows[k];
    for (size_t c = 0; c < n; ++c) {
        float sum = from[0][c];
        for (int k = 1; k < N; ++k) sum += from[k][c];
        sums[c] += sum;
    }
}

template <int N = 1>
void add_some_rows(const float* const* rows, size_t n_rows, float* sums, size_t n) {
    if constexpr (N < TOGETHER)
        if (n_rows > N) return add_some_rows<N + 1>(rows, n_rows, sums, n);
    add_rows<N>(rows, sums, n);
}

void keep_greater(const float* __restrict sums, int32_t place, float* __restrict best,
                  int32_t* __restrict where, size_t n) {
    for (size_t c = 0; c < n; ++c) {
        const bool is_greater = sums[c] > best[c];
        best[c] = is_greater ? sums[c] : best[c];
        where[c] = is_greater ? place : where[c];
    }
}

// One text: its tokens, and how many zeros are read before it.
struct Text {
    const int32_t* words;
    const float* tokens;  // of its first token
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

    void strongest(const Text& text, float* best, int32_t* where) {
        const size_t channels = filters_.channels;
        for (size_t g = 0; g < filters_.windows.size(); ++g) {
            const int64_t first = -text.left_padding;
            const int64_t last = std::max(first, text.length - filters_.windows[g]);
            sum_up(text, g, first);
            std::copy_n(sums_.data(), channels, best + g * channels);
            std::fill_n(where + g * channels, channels, int32_t(first));
            for (int64_t place = first + 1; place <= last; ++place) {
                sum_up(text, g, place);
                keep_greater(sums_.data(), int32_t(place), best + g * channels,
                             where + g * channels, channels);
            }
        }
    }

private:
    void sum_up(const Text& text, size_t g, int64_t place) {
        const size_t channels = filters_.channels, n_columns = filters_.n_columns;
        const int64_t from = std::max<int64_t>(place, 0);
        const int64_t to = std::min(place + filters_.windows[g], text.length);
        const size_t most_rows = 2 * size_t(std::max<int64_t>(to - from, 0));
        if (rows_.size() < most_rows) rows_.resize(most_rows);
        size_t n_rows = 0;
        for (int64_t t = from; t < to; ++t) {
            const size_t column = filters_.first_columns[g] + size_t(t - place) * channels;
            if (table_) rows_[n_rows++] = table_ + size_t(text.words[t]) * n_columns + column;
            if (has_tokens_) rows_[n_rows++] = text.tokens + size_t(t) * n_columns + column;
        }
        std::copy_n(bias_ + g * channels, channels, sums_.data());
        watch_.add_steps((n_rows + 1) * (channels / 4 + 1));
        for (size_t k = 0; k < n_rows; k += TOGETHER)
            add_some_rows(rows_.data() + k, std::min<size_t>(TOGETHER, n_rows - k), sums_.data(),
                          channels);
    }

    const Filters& filters_;
    const float* table_;  // nullptr: nothing is known word by word
    bool has_tokens_;
    const float* bias_;
    Watch& watch_;
    std::vector<float> sums_;         // of one place
    std::vector<const float*> rows_;  // what is added up there
};

nb::tuple strongest(Table<float> table, Vector<int32_t> words, Table<float> tokens,
                    Vector<int64_t> ends, Vector<int64_t> windows, int64_t channels,
                    Vector<float> bias, Vector<int64_t> left_padding, int64_t n_threads) {
    const Filters filters(windows, channels);
    const bool has_table = table.shape(1) > 0, has_tokens = tokens.shape(1) > 0;
    check_texts(words, ends, has_table, table.shape(0));
    const size_t n_texts = ends.size() - 1, n_outputs = filters.n_outputs();
    check(!has_table || table.shape(1) == filters.n_columns, "the table has other columns");
    check(!has_tokens || tokens.shape(1) == filters.n_columns, "the tokens have other columns");
    check(tokens.shape(0) == words.size(), "expected one row of tokens per word");
    check(bias.size() == n_outputs, "expected one bias per window and channel");
    check(left_padding.size() == n_texts, "expected one left padding per text");
    check(std::all_of(left_padding.data(), left_padding.data() + n_texts,
                      [](int64_t zeros) { return zeros >= 0; }),
          "a left padding is less than 0");
    const size_t n_used = limit_threads(n_threads, n_texts);
    Output<float> best(n_texts, n_outputs);
    Output<int32_t> where(n_texts, n_outputs);
    {
        nb::gil_scoped_release no_gil;
        std::atomic<size_t> next{0};
        run_in_threads(n_used, [&](size_t, Watch& watch) {
            Responses responses(filters, has_table ? table.data() : nullptr, has_tokens,
                                bias.data(), watch);
            for (size_t i; (i = next++) < n_texts;) {
                const int64_t start = ends.data()[i];
                // more zeros than a window is wide change no maximum
                const Text text{
                    words.data() + start, tokens.data() + size_t(start) * tokens.shape(1),
                    ends.data()[i + 1] - start, std::min(left_padding.data()[i], filters.widest())};
                responses.strongest(text, best.data() + i * n_outputs,
                                    where.data() + i * n_outputs);
            }
        });
    }
    return nb::make_tuple(best.to_numpy(), where.to_numpy());
}

// --- gradients -----------------------------------------------------------------------------------

// One token below one filter at its greatest response.
struct Hit {
    float slope;
    int32_t column;
    int64_t token;
};

// All of them, sorted by filter, so that its weights stay in the cache.
std::vector<Hit> hits_of(const Filters& filters, const float* slopes, const int32_t* where,
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
            const int64_t place = where[i * n_outputs + output];
            const int64_t to = std::min(place + filters.windows[g], ends[i + 1] - ends[i]);
            for (int64_t t = std::max<int64_t>(place, 0); t < to; ++t) {
                const size_t column =
                    filters.first_columns[g] + size_t(t - place) * channels + channel;
                hits.push_back({slope, int32_t(column), ends[i] + t});
            }
        }
    }
    return hits;
}

void add_scaled(float factor, const float* __restrict from, float* __restrict into, size_t n) {
    for (size_t d = 0; d < n; ++d) into[d] += factor * from[d];
}

// One kind of input, word by word or token by token: response = sum of rows . weights.
struct Product {
    Table<float> rows, weights;
    Output<float> row_slopes, weight_slopes;
    bool wants_rows;

    Product(const Table<float>& given_rows, const Table<float>& given_weights, bool wants)
        : rows(given_rows),
          weights(given_weights),
          row_slopes(wants ? given_rows.shape(0) : 0, given_rows.shape(1)),
          weight_slopes(given_weights.shape(0), given_weights.shape(1)),
          wants_rows(wants) {
        check(rows.shape(1) == weights.shape(1), "rows and weights differ in their columns");
    }
    size_t n_dims() const { return rows.shape(1); }
    void begin() {
        std::fill_n(row_slopes.data(), wants_rows ? rows.size() : 0, 0.0f);
        std::fill_n(weight_slopes.data(), weights.size(), 0.0f);
    }
    // some dimensions of one hit; others are the work of other threads
    void add(const Hit& hit, size_t row, size_t first, size_t n) {
        const size_t in_rows = row * n_dims() + first;
        const size_t in_weights = size_t(hit.column) * n_dims() + first;
        add_scaled(hit.slope, rows.data() + in_rows, weight_slopes.data() + in_weights, n);
        if (wants_rows)
            add_scaled(hit.slope, weights.data() + in_weights, row_slopes.data() + in_rows, n);
    }
};

constexpr size_t LINE = 16;  // numbers in a cache line: no two threads write into one

// The first and last of the dimensions that are a thread's work.
std::pair<size_t, size_t> share_of(size_t n_dims, size_t thread, size_t n_threads) {
    const size_t n_lines = (n_dims + LINE - 1) / LINE;
    const size_t first = n_lines * thread / n_threads * LINE;
    const size_t last = n_lines * (thread + 1) / n_threads * LINE;
    return {std::min(first, n_dims), std::min(last, n_dims)};
}

nb::tuple gradients(Table<float> slopes, Table<int32_t> where, Vector<int32_t> words,
                    Vector<int64_t> ends, Vector<int64_t> windows, int64_t channels,
                    Table<float> word_rows, Table<float> token_rows, Table<float> word_weights,
                    Table<float> token_weights, bool wants_words, bool wants_tokens,
                    int64_t n_threads) {
    const Filters filters(windows, channels);
    check_texts(words, ends, word_rows.shape(1) > 0, word_rows.shape(0));
    const size_t n_texts = ends.size() - 1, n_outputs = filters.n_outputs();
    check(slopes.shape(0) == n_texts && slopes.shape(1) == n_outputs && where.shape(0) == n_texts &&
              where.shape(1) == n_outputs,
          "expected a slope and a place for every text, window and channel");
    check(word_weights.shape(0) == filters.n_columns && token_weights.shape(0) == filters.n_columns,
          "the weights have other columns");
    check(token_rows.shape(0) == words.size(), "expected one row of tokens per word");
    const size_t most_dims = std::max(word_rows.shape(1), token_rows.shape(1));
    const size_t n_used = limit_threads(n_threads, (most_dims + LINE - 1) / LINE);
    Product by_word(word_rows, word_weights, wants_words);
    Product by_token(token_rows, token_weights, wants_tokens);
    {
        nb::gil_scoped_release no_gil;
        by_word.begin();
        by_token.begin();
        const auto hits = hits_of(filters, slopes.data(), where.data(), ends.data(), n_texts);
        run_in_threads(n_used, [&](size_t thread, Watch& watch) {
            const auto [first, last] = share_of(by_word.n_dims(), thread, n_used);
            const auto [t_first, t_last] = share_of(by_token.n_dims(), thread, n_used);
            const size_t n_steps = (last - first + t_last - t_first) / 2 + 8;
            for (const Hit& hit : hits) {
                watch.add_steps(n_steps);
                if (first < last)
                    by_word.add(hit, size_t(words.data()[hit.token]), first, last - first);
                if (t_first < t_last)
                    by_token.add(hit, size_t(hit.token), t_first, t_last - t_first);
            }
        });
    }
    return nb::make_tuple(by_word.weight_slopes.to_numpy(), by_token.weight_slopes.to_numpy(),
                          by_word.row_slopes.to_numpy(), by_token.row_slopes.to_numpy());
}

}  // namespace

void bind(nb::module_ module) {
    module.def("strongest", &strongest);
    module.def("gradients", &gradients);
}

}  // namespace convolution

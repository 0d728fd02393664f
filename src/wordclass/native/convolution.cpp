// The convolution of a CNN over texts, and the greatest response of every filter in every text.
//
// A filter of width w that stands at place p of a text responds with a sum over the w words below
// it, and what a word adds at place j of the filter does not depend on its neighbors. So it is
// computed once for each distinct word (the "table") and summed here, place by place. What differs
// from token to token, such as dropped-out columns, comes as a second array ("tokens").
//
// Columns of both: window after window, in it place j = 0..w-1 of the filter, in it the channels.
// Only the place of the greatest response has a gradient, so the way back is a short list of rows.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include "shared.h"

namespace convolution {
namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
auto handed_over(std::vector<T>&& values, std::initializer_list<size_t> shape) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}

// Calls work(t) on so many threads, t = 0, 1, ...
template <typename Work>
void on_threads(int n_threads, const Work& work) {
    std::vector<std::thread> threads;
    for (int t = 1; t < n_threads; ++t) threads.emplace_back([&work, t]() { work(t); });
    work(0);
    for (auto& thread : threads) thread.join();
}

void check(bool is_right, const char* message) {
    if (!is_right) throw nb::value_error(message);
}

// ---------------------------------------------------------------------------------------------
// Filters and texts
// ---------------------------------------------------------------------------------------------

// The widths of the filters, and where the columns of each begin.
struct Filters {
    std::vector<int64_t> windows;
    std::vector<size_t> first_columns;
    size_t channels, n_columns = 0;

    Filters(Vector<int64_t> given, int64_t n_channels)
        : windows(given.data(), given.data() + given.shape(0)), channels(size_t(n_channels)) {
        check(!windows.empty() && n_channels > 0, "expected one window or more, and channels");
        for (const int64_t window : windows) {
            check(window > 0, "a window is no wider than 0");
            first_columns.push_back(n_columns);
            n_columns += size_t(window) * channels;
        }
    }
    size_t n_outputs() const { return windows.size() * channels; }
    int64_t widest() const { return *std::max_element(windows.begin(), windows.end()); }
};

void check_texts(Vector<int32_t> words, Vector<int64_t> ends, size_t n_words) {
    check(ends.shape(0) > 0 && ends.data()[0] == 0, "ends must begin with 0");
    for (size_t i = 1; i < ends.shape(0); ++i)
        check(ends.data()[i - 1] <= ends.data()[i], "ends must not fall");
    check(size_t(ends.data()[ends.shape(0) - 1]) == words.shape(0),
          "the last of ends must be the number of tokens");
    for (size_t t = 0; t < words.shape(0); ++t)
        if (words.data()[t] < 0 || size_t(words.data()[t]) >= n_words)
            throw nb::value_error(("word " + std::to_string(words.data()[t]) +
                                   " is out of range: there are " + std::to_string(n_words))
                                      .c_str());
}

// ---------------------------------------------------------------------------------------------
// The greatest responses
// ---------------------------------------------------------------------------------------------

constexpr int kTogether = 8;  // so many addends need one pass over the sums

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

void add_some_rows(const float* const* rows, size_t n_rows, float* sums, size_t n) {
    switch (n_rows) {
        case 1: return add_rows<1>(rows, sums, n);
        case 2: return add_rows<2>(rows, sums, n);
        case 3: return add_rows<3>(rows, sums, n);
        case 4: return add_rows<4>(rows, sums, n);
        case 5: return add_rows<5>(rows, sums, n);
        case 6: return add_rows<6>(rows, sums, n);
        case 7: return add_rows<7>(rows, sums, n);
        default: return add_rows<kTogether>(rows, sums, n);
    }
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
    Responses(const Filters& filters, const float* table, bool has_tokens, const float* bias)
        : filters_(filters), table_(table), has_tokens_(has_tokens), bias_(bias),
          sums_(filters.channels), rows_(2 * size_t(filters.widest())) {}

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
        size_t n_rows = 0;
        for (int64_t t = from; t < to; ++t) {
            const size_t column = filters_.first_columns[g] + size_t(t - place) * channels;
            if (table_) rows_[n_rows++] = table_ + size_t(text.words[t]) * n_columns + column;
            if (has_tokens_) rows_[n_rows++] = text.tokens + size_t(t) * n_columns + column;
        }
        std::copy_n(bias_ + g * channels, channels, sums_.data());
        for (size_t k = 0; k < n_rows; k += kTogether)
            add_some_rows(rows_.data() + k, std::min<size_t>(kTogether, n_rows - k), sums_.data(),
                          channels);
    }

    const Filters& filters_;
    const float* table_;  // nullptr: nothing is known word by word
    bool has_tokens_;
    const float* bias_;
    std::vector<float> sums_;         // of one place
    std::vector<const float*> rows_;  // what is added up there
};

auto strongest(Table<float> table, Vector<int32_t> words, Table<float> tokens,
               Vector<int64_t> ends, Vector<int64_t> windows, int64_t channels,
               Vector<float> bias, Vector<int64_t> left_padding, int n_threads) {
    const Filters filters(windows, channels);
    const bool has_table = table.shape(1) > 0, has_tokens = tokens.shape(1) > 0;
    const size_t n_words = has_table ? table.shape(0) : size_t(std::numeric_limits<int32_t>::max());
    check_texts(words, ends, n_words);
    const size_t n_texts = ends.shape(0) - 1, n_outputs = filters.n_outputs();
    check(!has_table || table.shape(1) == filters.n_columns, "the table has other columns");
    check(!has_tokens || tokens.shape(1) == filters.n_columns, "the tokens have other columns");
    check(tokens.shape(0) == words.shape(0), "expected one row of tokens a word");
    check(bias.shape(0) == n_outputs, "expected one bias a window and channel");
    check(left_padding.shape(0) == n_texts, "expected one left padding a text");
    for (size_t i = 0; i < n_texts; ++i)
        check(left_padding.data()[i] >= 0, "a left padding is less than 0");
    check(n_threads > 0, "expected one thread or more");
    std::vector<float> best;
    std::vector<int32_t> where;
    {
        nb::gil_scoped_release release;
        best.resize(n_texts * n_outputs);
        where.resize(n_texts * n_outputs);
        std::atomic<size_t> next{0};
        on_threads(std::min<int>(n_threads, int(n_texts)), [&](int) {
            Responses responses(filters, has_table ? table.data() : nullptr, has_tokens,
                                bias.data());
            for (size_t i; (i = next++) < n_texts;) {
                const int64_t start = ends.data()[i];
                // more zeros than a window is wide change no maximum
                const Text text{words.data() + start,
                                tokens.data() + size_t(start) * tokens.shape(1),
                                ends.data()[i + 1] - start,
                                std::min(left_padding.data()[i], filters.widest())};
                responses.strongest(text, best.data() + i * n_outputs,
                                    where.data() + i * n_outputs);
            }
        });
    }
    return std::make_tuple(handed_over(std::move(best), {n_texts, n_outputs}),
                           handed_over(std::move(where), {n_texts, n_outputs}));
}

// ---------------------------------------------------------------------------------------------
// Gradients
// ---------------------------------------------------------------------------------------------

// One token below one filter at its greatest response.
struct Hit {
    float slope;
    int32_t column;
    int64_t token;
};

// All of them, sorted by filter, so that its weights stay in the cache.
std::vector<Hit> hits_of(const Filters& filters, const float* slopes, const int32_t* where,
                         const int64_t* ends, size_t n_texts) {
    std::vector<Hit> hits;
    const size_t n_outputs = filters.n_outputs(), channels = filters.channels;
    for (size_t output = 0; output < n_outputs; ++output) {
        const size_t g = output / channels, channel = output % channels;
        for (size_t i = 0; i < n_texts; ++i) {
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
    std::vector<float> row_slopes, weight_slopes;
    bool wants_rows;

    Product(Table<float> given_rows, Table<float> given_weights, bool wants)
        : rows(given_rows), weights(given_weights), wants_rows(wants) {
        check(rows.shape(1) == weights.shape(1), "rows and weights differ in their columns");
    }
    size_t n_dims() const { return rows.shape(1); }
    void begin() {
        row_slopes.resize(wants_rows ? rows.shape(0) * n_dims() : 0);
        weight_slopes.resize(weights.shape(0) * n_dims());
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

constexpr size_t kLine = 16;  // numbers in a cache line: no two threads write into one

std::pair<size_t, size_t> share_of(size_t n_dims, int thread, int n_threads) {
    const size_t n_lines = (n_dims + kLine - 1) / kLine, n = size_t(n_threads);
    const size_t first = n_lines * size_t(thread) / n * kLine;
    const size_t last = n_lines * size_t(thread + 1) / n * kLine;
    return {std::min(first, n_dims), std::min(last, n_dims)};
}

auto gradients(Table<float> slopes, Table<int32_t> where, Vector<int32_t> words,
               Vector<int64_t> ends, Vector<int64_t> windows, int64_t channels,
               Table<float> word_rows, Table<float> token_rows, Table<float> word_weights,
               Table<float> token_weights, bool wants_words, bool wants_tokens, int n_threads) {
    const Filters filters(windows, channels);
    const bool has_words = word_rows.shape(1) > 0;
    check_texts(words, ends,
                has_words ? word_rows.shape(0) : size_t(std::numeric_limits<int32_t>::max()));
    const size_t n_texts = ends.shape(0) - 1, n_outputs = filters.n_outputs();
    check(slopes.shape(0) == n_texts && slopes.shape(1) == n_outputs &&
              where.shape(0) == n_texts && where.shape(1) == n_outputs,
          "expected a slope and a place for every text, window and channel");
    check(word_weights.shape(0) == filters.n_columns &&
              token_weights.shape(0) == filters.n_columns,
          "the weights have other columns");
    check(token_rows.shape(0) == words.shape(0), "expected one row of tokens a word");
    check(n_threads > 0, "expected one thread or more");
    Product by_word(word_rows, word_weights, wants_words);
    Product by_token(token_rows, token_weights, wants_tokens);
    {
        nb::gil_scoped_release release;
        by_word.begin();
        by_token.begin();
        const auto hits =
            hits_of(filters, slopes.data(), where.data(), ends.data(), n_texts);
        on_threads(n_threads, [&](int thread) {
            const auto [first, last] = share_of(by_word.n_dims(), thread, n_threads);
            const auto [t_first, t_last] = share_of(by_token.n_dims(), thread, n_threads);
            for (const Hit& hit : hits) {
                if (first < last)
                    by_word.add(hit, size_t(words.data()[hit.token]), first, last - first);
                if (t_first < t_last)
                    by_token.add(hit, size_t(hit.token), t_first, t_last - t_first);
            }
        });
    }
    const size_t n_words = wants_words ? word_rows.shape(0) : 0;
    const size_t n_tokens = wants_tokens ? token_rows.shape(0) : 0;
    return std::make_tuple(
        handed_over(std::move(by_word.weight_slopes), {filters.n_columns, by_word.n_dims()}),
        handed_over(std::move(by_token.weight_slopes), {filters.n_columns, by_token.n_dims()}),
        handed_over(std::move(by_word.row_slopes), {n_words, by_word.n_dims()}),
        handed_over(std::move(by_token.row_slopes), {n_tokens, by_token.n_dims()}));
}

}  // namespace

void bind(nb::module_& module) {
    module.def("strongest", &strongest);
    module.def("gradients", &gradients);
}

}  // namespace convolution

// Splits a document into words.

#pragma once

#include "characters.h"
#include "documents.h"
#include "words.h"

namespace engine {

constexpr char NUMBER_MASK[] = "numbermask";
constexpr size_t MASK_SIZE = sizeof(NUMBER_MASK) - 1;

template <typename Char>
bool is_digit(Char c) {
    return c >= '0' && c <= '9';
}

// Return the end of a number that starts at i, or i if there is none. The regular expression is
// \b[0-9][0-9.,-]*\b. It is greedy, so the end is the last boundary of word and non-word
// characters. `is_word(k)` is true if character k is part of a word.
template <typename Char, typename IsWord>
size_t number_end(const Char* data, size_t n, size_t i, const IsWord& is_word) {
    size_t reach = i;
    while (reach < n && (is_digit(data[reach]) || data[reach] == '.' || data[reach] == ',' ||
                         data[reach] == '-'))
        ++reach;
    for (size_t end = reach; end > i; --end)
        if (is_digit(data[end - 1]) != (end < n && is_word(end))) return end;
    return i;
}

// Passes the words of a text to a function `sink`. A word has two or more word characters.
class Tokenizer {
public:
    Tokenizer(const Options& options, Watch& watch) : options_(options), watch_(watch), bytes_(64) {
        mask_ = Word::of(NUMBER_MASK, MASK_SIZE);
    }

    template <typename Sink>
    void operator()(const Document& text, Sink&& sink) {
        const bool mask = options_.mask_numbers && !text.is_prepared;
        watch_.add_steps(STEPS_PER_CHARACTER * std::min(text.length, UNITS_PER_POLL) + 1);
        if (text.is_ascii)
            read_ascii(static_cast<const uint8_t*>(text.data), text.length, mask, sink);
        else if (text.width == 1)
            read_wide(static_cast<const uint8_t*>(text.data), text.length, mask, sink);
        else if (text.width == 2)
            read_wide(static_cast<const uint16_t*>(text.data), text.length, mask, sink);
        else
            read_wide(static_cast<const uint32_t*>(text.data), text.length, mask, sink);
    }

private:
    // Fold the whole text, then find the ends of words in steps of eight bytes.
    template <typename Sink>
    void read_ascii(const uint8_t* data, size_t n, bool mask, Sink& sink) {
        if (n_folded_ < n + 16) {
            const size_t size = n + n / 2 + 64;
            folded_.reset(new uint8_t[size]);
            n_folded_ = size;
        }
        uint8_t* folded = folded_.get();
        for (size_t start = 0; start < n; start += UNITS_PER_POLL) {
            const size_t end = std::min(start + UNITS_PER_POLL, n);
            if (options_.lowercase)
                for (size_t i = start; i < end; ++i) folded[i] = fold_word_ascii<true>(data[i]);
            else
                for (size_t i = start; i < end; ++i) folded[i] = fold_word_ascii<false>(data[i]);
            watch_.add_steps(end - start);
        }
        std::memset(folded + n, 0, 16);
        size_t next_poll = UNITS_PER_POLL;
        for (size_t i = 0;;) {
            while (i < n && folded[i] == 0) ++i;
            if (i >= n) return;
            if (i >= next_poll) next_poll = poll(i);
            if (mask && is_digit(folded[i])) {
                const auto is_word = [&](size_t k) { return folded[k] != 0; };
                const size_t end = number_end(data, n, i, is_word);
                if (end > i) {
                    i = pass_masked_ascii(folded, end, sink);
                    continue;
                }
            }
            const Run first = Run::to_zero(folded + i);
            if (first.size < 8) {
                if (first.size >= 2) sink(Word{first.bytes, 0, nullptr, uint32_t(first.size)});
                i += first.size + 1;  // skips the byte after the word
                continue;
            }
            i = pass_long_ascii(folded, i, first.bytes, sink);
        }
    }

    template <typename Sink>
    size_t pass_long_ascii(const uint8_t* folded, size_t i, uint64_t low, Sink& sink) {
        const Run second = Run::to_zero(folded + i + 8);
        if (second.size < 8) {
            sink(Word{low, second.bytes, nullptr, uint32_t(8 + second.size)});
            return i + 8 + second.size;
        }
        const size_t size = std::strlen(reinterpret_cast<const char*>(folded + i));
        sink(Word::of(reinterpret_cast<const char*>(folded + i), size));
        return i + size;
    }

    // Pass the mask, joined with the word characters that follow a number with final punctuation.
    template <typename Sink>
    size_t pass_masked_ascii(const uint8_t* folded, size_t end, Sink& sink) {
        const size_t size = std::strlen(reinterpret_cast<const char*>(folded + end));
        if (size == 0) {
            sink(mask_);
            return end;
        }
        reserve(MASK_SIZE + size);
        std::memcpy(bytes_.data(), NUMBER_MASK, MASK_SIZE);
        std::memcpy(bytes_.data() + MASK_SIZE, folded + end, size);
        sink(Word::of(bytes_.data(), MASK_SIZE + size));
        return end + size;
    }

    // Read a text that is not ASCII, one character at a time.
    template <typename Char, typename Sink>
    void read_wide(const Char* data, size_t n, bool mask, Sink& sink) {
        const FoldingTable& folded = word_characters();
        const auto is_word = [&](size_t k) { return folded[data[k]] != 0; };
        size_t next_poll = UNITS_PER_POLL;
        for (size_t i = 0;;) {
            while (i < n && !is_word(i)) ++i;
            if (i == n) return;
            if (i >= next_poll) next_poll = poll(i);
            size_t size = 0, n_chars = 0;
            if (mask && is_digit(data[i])) {
                const size_t end = number_end(data, n, i, is_word);
                if (end > i) {
                    std::memcpy(bytes_.data(), NUMBER_MASK, MASK_SIZE);
                    size = n_chars = MASK_SIZE;
                    i = end;
                }
            }
            for (; i < n && is_word(i); ++i, ++n_chars) {
                reserve(size + 4);
                const uint32_t c = options_.lowercase ? folded[data[i]] : data[i];
                size += write_utf8(bytes_.data() + size, c);
            }
            if (n_chars >= 2) sink(Word::of(bytes_.data(), size));
        }
    }

    // Poll in the middle of a long text and return the position of the next poll.
    size_t poll(size_t i) {
        watch_.add_steps(STEPS_PER_CHARACTER * UNITS_PER_POLL);
        return i + UNITS_PER_POLL;
    }

    void reserve(size_t size) {
        if (size > bytes_.size()) bytes_.resize(2 * size);
    }

    const Options& options_;
    Watch& watch_;
    Word mask_;
    std::unique_ptr<uint8_t[]> folded_;
    size_t n_folded_ = 0;
    std::vector<char> bytes_;
};

}  // namespace engine

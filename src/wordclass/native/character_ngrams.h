// Extracts the n-grams of characters of a document.

#pragma once

#include <array>

#include "characters.h"
#include "dictionary.h"
#include "documents.h"

namespace engine {

constexpr size_t MAX_CACHED_WORD_BYTES = 64;  // longer words are rare
constexpr size_t MAX_CACHED_NGRAMS = size_t{1} << 22;

// Passes the n-grams of characters of a document to a function `sink`. They are those of each word
// with a space on either side. Words recur often, so the n-grams of a word are looked up once and
// cached.
template <typename Vocabulary>
class CharacterNgrams {
public:
    CharacterNgrams(Vocabulary& vocabulary, const Options& options, Watch& watch)
        : vocabulary_(vocabulary),
          options_(options),
          watch_(watch) {}

    template <typename Sink>
    void operator()(const Document& text, Sink& sink) {
        if (text.length >= MAX_TERMS - 1)  // a document has one space more than characters
            throw std::length_error("a document has 2 GB or more; split it into smaller documents");
        const uint8_t* const end = fold(text);
        for (const uint8_t* position = bytes_.get() + 1;;) {
            while (position < end && *position == ' ') ++position;
            if (position >= end) return;
            const Word word = word_at(position, end);
            if (word.size == 0) {  // too long for the cache
                const auto* word_end = static_cast<const uint8_t*>(
                    std::memchr(position, ' ', size_t(end - position) + 1));
                for_each_ngram(position, word_end, sink);
                position = word_end;
                continue;
            }
            const Id id = words_.add_word(word);
            if (id + 1 == ends_.size()) {
                for_each_ngram(position, position + word.size, [&](Id ngram) {
                    if (ngram != NO_ID) ngrams_.push_back(ngram);
                });
                ends_.push_back(ngrams_.size());
            }
            for (size_t k = ends_[id]; k < ends_[id + 1]; ++k) sink(ngrams_[k]);
            watch_.add_steps(4 * (ends_[id + 1] - ends_[id]) + 20);
            if (ngrams_.size() > MAX_CACHED_NGRAMS) clear_cache();
            position += word.size + 1;
        }
    }

private:
    // Write the text as UTF-8 between two spaces, with each white-space character replaced by one
    // space. Return the position of the last space. Sixteen bytes can be read from any character.
    const uint8_t* fold(const Document& text) {
        const size_t max_bytes = (text.is_ascii ? 1 : 4) * text.length + 2 + Word::SHORT;
        if (n_bytes_ < max_bytes) {
            bytes_.reset(new uint8_t[max_bytes + max_bytes / 2]);
            n_bytes_ = max_bytes + max_bytes / 2;
        }
        uint8_t* out = bytes_.get();
        *out++ = ' ';
        for (size_t start = 0; start < text.length; start += UNITS_PER_POLL) {
            const size_t n = std::min(UNITS_PER_POLL, text.length - start);
            watch_.add_steps(STEPS_PER_CHARACTER * n);
            if (text.is_ascii)
                out = fold_ascii(static_cast<const uint8_t*>(text.data) + start, n, out);
            else if (text.width == 1)
                out = fold_wide(static_cast<const uint8_t*>(text.data) + start, n, out, text);
            else if (text.width == 2)
                out = fold_wide(static_cast<const uint16_t*>(text.data) + start, n, out, text);
            else
                out = fold_wide(static_cast<const uint32_t*>(text.data) + start, n, out, text);
        }
        std::memset(out, 0, 1 + Word::SHORT);
        *out = ' ';
        return out;
    }

    uint8_t* fold_ascii(const uint8_t* data, size_t n, uint8_t* out) const {
        const auto to_space = [](uint8_t c) { return c == 0 ? uint8_t(' ') : c; };
        if (options_.lowercase)
            for (size_t i = 0; i < n; ++i) out[i] = to_space(fold_visible_ascii<true>(data[i]));
        else
            for (size_t i = 0; i < n; ++i) out[i] = to_space(fold_visible_ascii<false>(data[i]));
        return out + n;
    }

    template <typename Char>
    uint8_t* fold_wide(const Char* data, size_t n, uint8_t* out, const Document& text) const {
        const FoldingTable& folded = visible_characters();
        const bool lowercase = options_.lowercase && !text.is_prepared;
        for (size_t i = 0; i < n; ++i) {
            const uint32_t lower = folded[data[i]];
            const uint32_t c = lower == 0 ? ' ' : lowercase ? lower : data[i];
            out += write_utf8(reinterpret_cast<char*>(out), c);
        }
        return out;
    }

    // Return the word that starts at a position, or an empty one if it is too long for the cache.
    static Word word_at(const uint8_t* position, const uint8_t* end) {
        const Run first = Run::to_space(position);
        if (first.size < 8) return {first.bytes, 0, nullptr, uint32_t(first.size)};
        const Run second = Run::to_space(position + 8);
        if (second.size < 8) return {first.bytes, second.bytes, nullptr, uint32_t(8 + second.size)};
        const size_t within = std::min(MAX_CACHED_WORD_BYTES + 1, size_t(end - position) + 1);
        const void* word_end = std::memchr(position, ' ', within);
        if (!word_end) return {0, 0, nullptr, 0};
        return Word::of(reinterpret_cast<const char*>(position),
                        size_t(static_cast<const uint8_t*>(word_end) - position));
    }

    // The shortest n-grams come first. A padded word that is not longer than an n-gram is one
    // n-gram.
    template <typename Take>
    void for_each_ngram(const uint8_t* word, const uint8_t* word_end, Take&& take) {
        const uint8_t *const first = word - 1, *const last = word_end + 1;
        bool is_whole = false;
        for (size_t n = options_.shortest; n <= options_.longest && !is_whole; ++n) {
            const uint8_t *start = first, *end = first;
            for (size_t k = 0; k < n && end < last; ++k) end = next(end);
            is_whole = end == last;
            for (;;) {
                pending_[n_pending_++] = ngram(start, size_t(end - start));
                if (n_pending_ == pending_.size()) look_up(take);
                if (end == last) break;
                start = next(start);
                end = next(end);
            }
        }
        look_up(take);
    }

    template <typename Take>
    void look_up(Take& take) {
        vocabulary_.words(pending_.data(), ids_.data(), n_pending_);
        watch_.add_steps(20 * n_pending_);
        for (size_t k = 0; k < n_pending_; ++k) take(ids_[k]);
        n_pending_ = 0;
    }

    static const uint8_t* next(const uint8_t* character) {
        do ++character;
        while ((*character & 0xC0) == 0x80);
        return character;
    }

    static Word ngram(const uint8_t* start, size_t size) {
        constexpr uint64_t all = std::numeric_limits<uint64_t>::max();
        if (size > Word::SHORT) return Word::of(reinterpret_cast<const char*>(start), size);
        if (size <= 8)
            return {eight_bytes(start) & (all >> (64 - 8 * size)), 0, nullptr, uint32_t(size)};
        return {eight_bytes(start), eight_bytes(start + 8) & (all >> (128 - 8 * size)), nullptr,
                uint32_t(size)};
    }

    void clear_cache() {
        words_ = Dictionary();
        ngrams_.clear();
        ends_.assign(1, 0);
    }

    static constexpr size_t LOOKUPS_PER_BATCH = 128;

    Vocabulary& vocabulary_;
    const Options& options_;
    Watch& watch_;
    std::array<Word, LOOKUPS_PER_BATCH> pending_;
    std::array<Id, LOOKUPS_PER_BATCH> ids_;
    size_t n_pending_ = 0;
    std::unique_ptr<uint8_t[]> bytes_;
    size_t n_bytes_ = 0;
    Dictionary words_;             // the cached words
    std::vector<Id> ngrams_;       // n-grams of each cached word
    std::vector<size_t> ends_{0};  // per word, in ngrams_
};

}  // namespace engine

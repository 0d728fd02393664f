// Turns a document into the ids of its terms: words, their n-grams, or n-grams of characters.

#pragma once

#include "character_ngrams.h"
#include "tokenizer.h"

namespace engine {

// Turns documents into terms. It drops stop words and forms n-grams. `Vocabulary` is one of the two
// lookups below, which add new words and pairs or return NO_ID for them.
template <typename Vocabulary>
class TermExtractor {
public:
    TermExtractor(Vocabulary& vocabulary, const Options& options, size_t n_stop_words, Watch& watch)
        : vocabulary_(vocabulary),
          shortest_(options.shortest),
          longest_(options.longest),
          are_characters_(options.are_characters),
          n_stop_words_(n_stop_words),
          watch_(watch),
          tokenizer_(options, watch),
          character_ngrams_(vocabulary, options, watch) {}

    // Return an upper limit of the number of terms. The shortest word, a masked digit, takes one
    // character and a separator. Such a word has three n-grams of characters of each size.
    size_t max_terms(const Document& text) const {
        const size_t max_words = text.length / 2 + 1;
        return (are_characters_ ? 3 : 1) * max_words * (longest_ - shortest_ + 1);
    }

    template <typename Sink>
    void operator()(const Document& text, Sink&& sink) {
        read(text);
        for_each_term(sink);
    }

    // The first step finds the words and prefetches their pairs, so that the caller can do other
    // work before the second step, `for_each_term`. `text` must stay alive.
    void read(const Document& text) {
        text_ = &text;
        if (are_characters_) return;
        words_.clear();
        tokenizer_(text, [&](const Word& word) {
            const Id id = vocabulary_.word(word);
            if (id == NO_ID || id >= n_stop_words_) words_.push_back(id);
        });
        if (longest_ > 1 && words_.size() > 1)
            vocabulary_.prefetch_pairs(words_.data(), words_.data() + 1,
                                       std::min(words_.size() - 1, UNITS_PER_POLL));
    }

    template <typename Sink>
    void for_each_term(Sink&& sink) {
        if (are_characters_) {
            character_ngrams_(*text_, sink);
            return;
        }
        if (shortest_ == 1)
            for (const Id word : words_) sink(word);
        if (longest_ == 1) return;
        terms_ = words_;
        for (size_t n = 2; n <= std::min(longest_, words_.size()); ++n) {
            terms_.pop_back();  // no word follows the last term
            longer_.resize(terms_.size());
            const Id* next_words = words_.data() + n - 1;
            for (size_t start = 0; start < terms_.size(); start += UNITS_PER_POLL) {
                const size_t n_pairs = std::min(UNITS_PER_POLL, terms_.size() - start);
                const Id *firsts = terms_.data() + start, *seconds = next_words + start;
                if (n > 2 || start > 0) vocabulary_.prefetch_pairs(firsts, seconds, n_pairs);
                vocabulary_.pairs(firsts, seconds, longer_.data() + start, n_pairs);
                watch_.add_steps(100 * n_pairs);
            }
            terms_.swap(longer_);
            if (n >= shortest_)
                for (const Id term : terms_) sink(term);
        }
    }

private:
    Vocabulary& vocabulary_;
    size_t shortest_, longest_;
    bool are_characters_;
    size_t n_stop_words_;
    Watch& watch_;
    Tokenizer tokenizer_;
    CharacterNgrams<Vocabulary> character_ngrams_;
    const Document* text_ = nullptr;
    std::vector<Id> words_, terms_, longer_;
};

// Adds new words and pairs.
struct GrowingLookup {
    Dictionary& terms;
    Id word(const Word& word) { return terms.add_word(word); }
    void words(const Word* words, Id* ids, size_t n) { terms.add_words(words, ids, n); }
    void prefetch_pairs(const Id* firsts, const Id* words, size_t n) const {
        terms.prefetch_pairs(firsts, words, n);
    }
    void pairs(const Id* firsts, const Id* words, Id* ids, size_t n) {
        terms.add_pairs(firsts, words, ids, n);
    }
};

// Returns NO_ID for new words and pairs.
struct FixedLookup {
    Dictionary& terms;
    Id word(const Word& word) { return terms.find_word(word); }
    void words(const Word* words, Id* ids, size_t n) { terms.find_words(words, ids, n); }
    void prefetch_pairs(const Id* firsts, const Id* words, size_t n) const {
        terms.prefetch_pairs(firsts, words, n);
    }
    void pairs(const Id* firsts, const Id* words, Id* ids, size_t n) {
        terms.find_pairs(firsts, words, ids, n);
    }
};

// Add the stop words to an empty dictionary, which gives them the lowest ids. Return their number.
inline size_t add_stop_words(Dictionary& terms, const Options& options) {
    for (const std::string& word : options.stop_words)
        terms.add_word(Word::of(word.data(), word.size()));
    return terms.size();
}

}  // namespace engine

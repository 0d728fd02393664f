// Tokens, dictionary and counts at the speed of the machine.
//
// Terms are words and their n-grams, or n-grams of characters, and used three ways: count every
// term of every document; count the terms of a fixed vocabulary; turn documents into the row
// numbers of a fixed vocabulary (words only). What a term is, is specified by text/analyzer.py, and
// every option here is tested against it. No Python object is touched while documents are read, so
// the GIL is released and threads share the work; what comes out does not depend on their number.
// Portable C++17, 64-bit little-endian, no intrinsics.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "shared.h"

namespace engine {
namespace {

using Id = uint32_t;
constexpr Id NO_ID = std::numeric_limits<Id>::max();
constexpr size_t MAX_TERMS = size_t{1} << 31;
constexpr size_t MAX_DOCUMENT = size_t{1} << 32;  // characters
// Entries that lie together. So many bytes are given back to the system when they are freed,
// which smaller pieces are not: at a million documents that is a gigabyte.
constexpr size_t BLOCK = size_t{5} << 20;
// Documents that are sorted together, and their entries if the columns are few: all in the cache.
constexpr size_t SORTED_ROWS = 4096, SORTED_ENTRIES = size_t{1} << 17;
constexpr size_t LONGEST_NGRAM = 3;        // words
constexpr size_t LONGEST_CHARACTERS = 16;  // of an n-gram
constexpr size_t LONGEST_REMEMBERED = 64;  // bytes of a word whose n-grams are kept at hand
constexpr size_t MOST_REMEMBERED = size_t{1} << 22;  // such n-grams
constexpr size_t CHARACTER = 4;                      // steps of a Watch that one takes
constexpr size_t PAUSE = size_t{1} << 18;            // characters or words without a look up
constexpr char NUMBER_MASK[] = "numbermask";
constexpr size_t MASK_SIZE = sizeof(NUMBER_MASK) - 1;

// --- characters ----------------------------------------------------------------------------------

// The lower case of an ASCII character that is part of a word, or itself; 0 for all others. Written
// without a table or a branch, so that compilers do it for many characters at once.
template <bool lowercase>
uint8_t folded_ascii(uint8_t c) {
    const uint8_t lower = c | 0x20;
    const bool is_letter = uint8_t(lower - 'a') < 26;
    const bool is_other = uint8_t(c - '0') < 10 || c == '_';
    const uint8_t letter = lowercase ? lower : c;
    return uint8_t((is_letter ? letter : 0) | (is_other ? c : 0));
}

// The same of one that is visible: all but white space and U+0000.
template <bool lowercase>
uint8_t visible_ascii(uint8_t c) {
    const bool is_white = c == 0 || uint8_t(c - 9) < 5 || uint8_t(c - 28) < 5;
    const bool is_upper = uint8_t(c - 'A') < 26;
    return uint8_t(is_white ? 0 : lowercase && is_upper ? c | 0x20 : c);
}

// Which characters count, and their lower case, as the running Python has them. Entry c is the
// lower case of c, or 0 where c does not count (U+0000 never does). ASCII is known; the rest is
// told by the interpreter on first need.
class Characters {
public:
    explicit Characters(uint8_t (*ascii)(uint8_t)) : folded_(0x110000, 0) {
        for (uint8_t c = 0; c < 128; ++c) folded_[c] = ascii(c);
    }

    void learn(uint32_t first, const uint32_t* folded, size_t n) {
        check(first + n <= folded_.size() &&
                  std::all_of(folded, folded + n, [&](uint32_t c) { return c < folded_.size(); }),
              "no such characters");
        std::copy(folded, folded + n, folded_.begin() + first);
    }

    uint32_t operator[](uint32_t c) const { return folded_[c]; }

private:
    std::vector<uint32_t> folded_;
};

// Those that are part of a word.
Characters& characters() {
    static Characters table(folded_ascii<true>);
    return table;
}

// Those that are no white space.
Characters& visible_characters() {
    static Characters table(visible_ascii<true>);
    return table;
}

// --- documents -----------------------------------------------------------------------------------

// The characters of a text as Python stores them: 1, 2 or 4 bytes each.
struct Document {
    const void* data;
    size_t length;  // in characters
    int width;      // bytes per character
    bool is_ascii;
    bool is_prepared;  // Python has masked its numbers and lowercased it already
};

// U+0130 changes length when lowercased, and the lower case of U+03A3 depends on what stands
// around it: only Python's own lower() knows.
template <typename Char>
bool needs_python(const Char* data, size_t n) {
    return std::any_of(data, data + n, [](Char c) { return c == 0x130 || c == 0x3A3; });
}

// Texts that stay where they are; whatever owns them is kept alive. All together they must have
// fewer than 2^33 characters, so that no term occurs 2^32 times; half of that for n-grams of
// characters, where a word of one character has two spaces.
class Documents {
public:
    Documents(const Documents&) = delete;

    // The texts are held one by one, so that the list may change while they are read.
    explicit Documents(nb::list texts) : Documents(nb::tuple(texts)) {}

    void check_total(bool are_characters) const {
        size_t total = are_characters ? documents_.size() : 0;
        for (const Document& document : documents_) total += document.length;
        if (are_characters && total >= MAX_DOCUMENT)
            throw nb::value_error("4 GB of text or more at once: give it in blocks (fit_blocks)");
        if (total >= 2 * MAX_DOCUMENT)
            throw nb::value_error("8 GB of text or more at once: give it in blocks (fit_blocks)");
    }

    size_t size() const { return documents_.size(); }
    const Document& operator[](size_t k) const { return documents_[k]; }

    // Bytes per character of the widest text: tells which part of the character table is needed.
    int width() const {
        int widest = 1;
        for (const Document& document : documents_) widest = std::max(widest, document.width);
        return widest;
    }

    // The documents that only Python can lowercase.
    std::vector<size_t> special() const {
        nb::gil_scoped_release no_gil;
        Watch watch;
        std::vector<size_t> found;
        for (size_t k = 0; k < documents_.size(); ++k) {
            const Document& document = documents_[k];
            watch.did(document.length);
            const bool is_special =
                document.width == 2
                    ? needs_python(static_cast<const uint16_t*>(document.data), document.length)
                : document.width == 4
                    ? needs_python(static_cast<const uint32_t*>(document.data), document.length)
                    : false;
            if (is_special) found.push_back(k);
        }
        return found;
    }

    void replace(size_t k, nb::str prepared) {
        Document document = view(k, prepared.ptr());
        document.is_prepared = true;
        documents_.at(k) = document;
        replacements_.append(prepared);
    }

private:
    explicit Documents(nb::tuple texts) : owner_(texts) {
        const size_t n = nb::len(texts);
        documents_.reserve(n);
        for (size_t k = 0; k < n; ++k) documents_.push_back(view(k, texts[k].ptr()));
    }

    static Document view(size_t k, PyObject* text) {
        if (!PyUnicode_Check(text)) {
            const std::string type = Py_TYPE(text)->tp_name;
            throw nb::type_error(
                ("text " + std::to_string(k) + " is a " + type + ", not a str").c_str());
        }
        const auto length = size_t(PyUnicode_GET_LENGTH(text));
        if (length >= MAX_DOCUMENT)
            throw nb::value_error(
                ("document " + std::to_string(k) + " has 4 GB or more: cut it into smaller ones")
                    .c_str());
        return {PyUnicode_DATA(text), length, int(PyUnicode_KIND(text)),
                PyUnicode_IS_ASCII(text) != 0, false};
    }

    nb::object owner_;
    nb::list replacements_;
    std::vector<Document> documents_;
};

// --- tokenizer -----------------------------------------------------------------------------------

struct Options {
    bool mask_numbers = true;
    bool lowercase = true;
    size_t shortest = 1;  // words in a term, or characters
    size_t longest = 1;
    std::vector<std::string> stop_words;
    bool are_characters = false;
};

// A word as the dictionary sees it. Up to 16 bytes, which nearly all words have, it is just two
// integers; of a longer one they hold a hash and the size, and the bytes are compared too. No
// word has a zero byte, and no byte of UTF-8 is 0xFF, so the two kinds are never equal.
struct Word {
    uint64_t low, high;
    const char* bytes;  // only of a long one
    uint32_t size;

    static constexpr uint32_t SHORT = 16;

    bool is_long() const { return size > SHORT; }

    static Word of(const char* bytes, size_t size) {
        if (size > std::numeric_limits<uint32_t>::max())
            throw std::length_error("a word of 4 GB or more");
        Word word{0, 0, bytes, uint32_t(size)};
        if (!word.is_long()) {
            char padded[SHORT] = {};
            std::memcpy(padded, bytes, size);
            std::memcpy(&word.low, padded, 8);
            std::memcpy(&word.high, padded + 8, 8);
            return word;
        }
        word.low = hash_of(bytes, size);
        word.high = (uint64_t{0xFF} << 56) | size;
        return word;
    }
};

template <typename Char>
bool is_digit(Char c) {
    return c >= '0' && c <= '9';
}

// Where a number that starts at i ends, or i where there is none: the regular expression
// \b[0-9][0-9.,-]*\b, greedy, so the last place at which word and non-word characters meet.
// `is_word(k)` tells whether character k is part of a word.
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

uint64_t eight_bytes(const uint8_t* bytes) {
    uint64_t eight;
    std::memcpy(&eight, bytes, 8);
    return eight;
}

constexpr uint64_t ONES = 0x0101010101010101u, TOPS = 0x8080808080808080u;

// The top bit of every byte that ends a word: a zero among ASCII ones, or a space among any. Exact
// up to the first one.
uint64_t zeros(uint64_t eight) { return (eight - ONES) & TOPS; }
uint64_t spaces(uint64_t eight) {
    const uint64_t others = eight ^ (ONES * ' ');
    return (others - ONES) & ~others & TOPS;
}

// The number of bytes before the first end of eight, 8 where there is none, and the eight with
// everything from there on cleared.
struct Run {
    uint64_t kept;
    size_t size;

    Run(uint64_t eight, uint64_t ends) {
        if (ends == 0) {
            kept = eight;
            size = 8;
            return;
        }
        const uint64_t before = (ends & (~ends + 1)) - 1;  // all bits below the first top
        size = ((before & ONES) * ONES >> 56) - 1;
        kept = eight & (before >> 7);
    }

    static Run to_zero(const uint8_t* bytes) {
        const uint64_t eight = eight_bytes(bytes);
        return {eight, zeros(eight)};
    }

    static Run to_space(const uint8_t* bytes) {
        const uint64_t eight = eight_bytes(bytes);
        return {eight, spaces(eight)};
    }
};

// Hands the words of a text to a sink: runs of two or more word characters.
class Tokenizer {
public:
    Tokenizer(const Options& options, Watch& watch) : options_(options), watch_(watch), bytes_(64) {
        mask_ = Word::of(NUMBER_MASK, MASK_SIZE);
    }

    template <typename Sink>
    void operator()(const Document& text, Sink&& sink) {
        const bool mask = options_.mask_numbers && !text.is_prepared;
        watch_.did(CHARACTER * std::min(text.length, PAUSE) + 1);
        if (text.is_ascii)
            ascii(static_cast<const uint8_t*>(text.data), text.length, mask, sink);
        else if (text.width == 1)
            wide(static_cast<const uint8_t*>(text.data), text.length, mask, sink);
        else if (text.width == 2)
            wide(static_cast<const uint16_t*>(text.data), text.length, mask, sink);
        else
            wide(static_cast<const uint32_t*>(text.data), text.length, mask, sink);
    }

private:
    // Fold the whole text first; then a word is found by looking at eight bytes at a time.
    template <typename Sink>
    void ascii(const uint8_t* data, size_t n, bool mask, Sink& sink) {
        if (n_folded_ < n + 16) {
            const size_t size = n + n / 2 + 64;
            folded_.reset(new uint8_t[size]);
            n_folded_ = size;
        }
        uint8_t* folded = folded_.get();
        for (size_t start = 0; start < n; start += PAUSE) {
            const size_t end = std::min(start + PAUSE, n);
            if (options_.lowercase)
                for (size_t i = start; i < end; ++i) folded[i] = folded_ascii<true>(data[i]);
            else
                for (size_t i = start; i < end; ++i) folded[i] = folded_ascii<false>(data[i]);
            watch_.did(end - start);
        }
        std::memset(folded + n, 0, 16);
        size_t pause = PAUSE;
        for (size_t i = 0;;) {
            while (i < n && folded[i] == 0) ++i;
            if (i >= n) return;
            if (i >= pause) pause = paused(i);
            if (mask && is_digit(folded[i])) {
                const auto is_word = [&](size_t k) { return folded[k] != 0; };
                const size_t end = number_end(data, n, i, is_word);
                if (end > i) {
                    i = masked_ascii(folded, end, sink);
                    continue;
                }
            }
            const Run first = Run::to_zero(folded + i);
            if (first.size < 8) {
                if (first.size >= 2) sink(Word{first.kept, 0, nullptr, uint32_t(first.size)});
                i += first.size + 1;  // the byte behind the word is none of a word
                continue;
            }
            i = longer_ascii(folded, i, first.kept, sink);
        }
    }

    template <typename Sink>
    size_t longer_ascii(const uint8_t* folded, size_t i, uint64_t low, Sink& sink) {
        const Run second = Run::to_zero(folded + i + 8);
        if (second.size < 8) {
            sink(Word{low, second.kept, nullptr, uint32_t(8 + second.size)});
            return i + 8 + second.size;
        }
        const size_t size = std::strlen(reinterpret_cast<const char*>(folded + i));
        sink(Word::of(reinterpret_cast<const char*>(folded + i), size));
        return i + size;
    }

    // The mask, with the word characters that follow it where it ended in punctuation.
    template <typename Sink>
    size_t masked_ascii(const uint8_t* folded, size_t end, Sink& sink) {
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

    // Character by character, for texts that are not plain ASCII.
    template <typename Char, typename Sink>
    void wide(const Char* data, size_t n, bool mask, Sink& sink) {
        const Characters& folded = characters();
        const auto is_word = [&](size_t k) { return folded[data[k]] != 0; };
        size_t pause = PAUSE;
        for (size_t i = 0;;) {
            while (i < n && !is_word(i)) ++i;
            if (i == n) return;
            if (i >= pause) pause = paused(i);
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
                size += put_utf8(bytes_.data() + size, c);
            }
            if (n_chars >= 2) sink(Word::of(bytes_.data(), size));
        }
    }

    // Look up in the middle of a long text; returns where to do so again.
    size_t paused(size_t i) {
        watch_.did(CHARACTER * PAUSE);
        return i + PAUSE;
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

// --- dictionary ----------------------------------------------------------------------------------

// Open addressing with linear probing, at most half full; a slot without id is free.
template <typename SlotKey>
class HashTable {
public:
    struct Slot {
        SlotKey key;
        Id id = NO_ID;
    };

    HashTable() : slots_(size_t{1} << (64 - FIRST_SHIFT)) {}

    const Slot& first(uint64_t hash) const { return slots_[hash >> shift_]; }

    // The slot that holds the key, or the free one where it belongs.
    template <typename Same>
    Slot& find(uint64_t hash, const SlotKey& key, const Same& same) {
        const size_t mask = slots_.size() - 1;
        size_t place = hash >> shift_;
        while (slots_[place].id != NO_ID && !(slots_[place].key == key && same(slots_[place].id)))
            place = (place + 1) & mask;
        return slots_[place];
    }

    // To be called after a slot was filled.
    template <typename Hash>
    void grow_if_full(const Hash& hash) {
        if (2 * ++n_filled_ < slots_.size()) return;
        std::vector<Slot, Allocator<Slot>> old(2 * slots_.size());
        old.swap(slots_);
        shift_ -= 1;
        const size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.id == NO_ID) continue;
            size_t place = hash(slot.key) >> shift_;
            while (slots_[place].id != NO_ID) place = (place + 1) & mask;
            slots_[place] = slot;
        }
    }

private:
    static constexpr int FIRST_SHIFT = 58;

    std::vector<Slot, Allocator<Slot>> slots_;
    int shift_ = FIRST_SHIFT;  // the place of a key is the upper bits of its hash
    size_t n_filled_ = 0;
};

// All terms: words, and n-grams as a term plus one more word, so that they need no bytes.
class Terms {
public:
    size_t size() const { return nodes_.size(); }

    Id find_word(const Word& word) {
        return word.size <= 8 ? short_slot(word).id : word_slot(word).id;
    }

    Id add_word(const Word& word) {
        if (word.size <= 8) {
            auto& slot = short_slot(word);
            if (slot.id != NO_ID) return slot.id;
            slot.key = word.low;
            const Id id = slot.id = add_bytes(word);
            short_words_.grow_if_full(pair_hash);
            return id;
        }
        auto& slot = word_slot(word);
        if (slot.id != NO_ID) return slot.id;
        slot.key = {word.low, word.high};
        const Id id = slot.id = add_bytes(word);
        words_.grow_if_full(word_hash);
        return id;
    }

    // Many words at a time: their slots are looked at first, see below. NO_ID for one not found.
    void find_words(const Word* words, Id* ids, size_t n) {
        touch_words(words, n);
        for (size_t k = 0; k < n; ++k) ids[k] = find_word(words[k]);
    }

    void add_words(const Word* words, Id* ids, size_t n) {
        touch_words(words, n);
        for (size_t k = 0; k < n; ++k) ids[k] = add_word(words[k]);
    }

    // There are so many n-grams that their slots are far away in memory: to be called for some
    // terms and the words behind them before these are looked up.
    void expect_pairs(const Id* terms, const Id* words, size_t n) const {
        for (size_t k = 0; k < n; ++k)
            prefetch_early(&pairs_.first(pair_hash(pair_key(terms[k], words[k]))));
    }

    // The n-grams that terms make with the words behind them, NO_ID for one that is not there or
    // has an unknown part.
    void find_pairs(const Id* terms, const Id* words, Id* pairs, size_t n) {
        for (size_t k = 0; k < n; ++k)
            pairs[k] = terms[k] == NO_ID || words[k] == NO_ID
                           ? NO_ID
                           : pair_slot(pair_key(terms[k], words[k])).id;
    }

    void add_pairs(const Id* terms, const Id* words, Id* pairs, size_t n) {
        for (size_t k = 0; k < n; ++k) pairs[k] = add_pair(terms[k], words[k]);
    }

    Id add_pair(Id term, Id word) {
        const uint64_t key = pair_key(term, word);
        auto& slot = pair_slot(key);
        if (slot.id != NO_ID) return slot.id;
        slot.key = key;
        const Id id = slot.id = add_node({0, term, word});
        pairs_.grow_if_full(pair_hash);
        return id;
    }

    // Words joined by a space.
    void append_to(std::string& text, Id id) const {
        const Node& node = nodes_[id];
        if (node.word == NO_ID) {
            text.append(arena_.data() + node.offset, node.size_or_term);
        } else {
            append_to(text, node.size_or_term);
            text.push_back(' ');
            append_to(text, node.word);
        }
    }

    // Add all terms of another dictionary; returns their ids here.
    std::vector<Id> add_all(const Terms& other, Watch& watch) {
        std::vector<Id> ids(other.size());
        for (Id id = 0; id < other.size(); ++id) {
            watch.did(100);
            const Node& node = other.nodes_[id];
            ids[id] = node.word == NO_ID
                          ? add_word(Word::of(other.arena_.data() + node.offset, node.size_or_term))
                          : add_pair(ids[node.size_or_term], ids[node.word]);
        }
        return ids;
    }

private:
    struct Node {
        size_t offset;          // of a word: where its bytes start
        uint32_t size_or_term;  // of a word: its bytes; of an n-gram: all words but the last
        Id word;                // of an n-gram: the last word; NO_ID marks a word
    };

    struct WordKey {
        uint64_t low, high;
        bool operator==(const WordKey& other) const {
            return ((low ^ other.low) | (high ^ other.high)) == 0;
        }
    };

    Id add_bytes(const Word& word) {
        char short_bytes[Word::SHORT];
        std::memcpy(short_bytes, &word.low, 8);
        std::memcpy(short_bytes + 8, &word.high, 8);
        const char* bytes = word.is_long() ? word.bytes : short_bytes;
        const Id id = add_node({arena_.size(), word.size, NO_ID});
        arena_.insert(arena_.end(), bytes, bytes + word.size);
        return id;
    }

    HashTable<uint64_t>::Slot& short_slot(const Word& word) {
        return short_words_.find(pair_hash(word.low), word.low, [](Id) { return true; });
    }

    HashTable<WordKey>::Slot& word_slot(const Word& word) {
        const WordKey key{word.low, word.high};
        return words_.find(word_hash(key), key, [&](Id id) {
            return !word.is_long() ||
                   std::memcmp(arena_.data() + nodes_[id].offset, word.bytes, word.size) == 0;
        });
    }

    void touch_words(const Word* words, size_t n) const {
        Id seen = 0;
        for (size_t k = 0; k < n; ++k)
            seen |= words[k].size <= 8 ? short_words_.first(pair_hash(words[k].low)).id
                                       : words_.first(word_hash({words[k].low, words[k].high})).id;
        volatile Id used = seen;  // so that no compiler leaves the look out
        static_cast<void>(used);
    }

    HashTable<uint64_t>::Slot& pair_slot(uint64_t key) {
        return pairs_.find(pair_hash(key), key, [](Id) { return true; });
    }

    static uint64_t word_hash(const WordKey& key) { return mixed(key.low, key.high); }
    static uint64_t pair_key(Id term, Id word) { return (uint64_t(term) << 32) | word; }
    static uint64_t pair_hash(uint64_t key) { return mixed(key, key >> 32); }

    Id add_node(const Node& node) {
        if (nodes_.size() >= MAX_TERMS)
            throw std::length_error("more than 2^31 terms: raise min_docs or drop n-grams");
        nodes_.push_back(node);
        return Id(nodes_.size() - 1);
    }

    HashTable<uint64_t> short_words_;  // up to 8 bytes: smaller slots, fewer cache misses
    HashTable<WordKey> words_;
    HashTable<uint64_t> pairs_;
    std::vector<Node> nodes_;
    std::vector<char> arena_;
};

// --- counting ------------------------------------------------------------------------------------

struct Entry {
    Id id;
    uint32_t count;
};

// Like a vector, but memory that was never used is never touched, so it costs nothing.
class Entries {
public:
    Entry& operator[](size_t k) { return memory_[k]; }
    const Entry& operator[](size_t k) const { return memory_[k]; }
    Entry* data() { return memory_.get(); }
    const Entry* data() const { return memory_.get(); }

    // Make room for so many; the first `used` are kept.
    void reserve(size_t n, size_t used) {
        if (n <= capacity_) return;
        capacity_ = std::max(n, 2 * capacity_);
        std::unique_ptr<Entry[]> larger(new Entry[capacity_]);
        std::copy(memory_.get(), memory_.get() + used, larger.get());
        memory_ = std::move(larger);
    }

private:
    std::unique_ptr<Entry[]> memory_;
    size_t capacity_ = 0;
};

// The counted terms of some documents, in order of first appearance within each document.
struct Block {
    Entries entries;
    std::vector<size_t> ends;  // of each document, in entries

    size_t size() const { return ends.empty() ? 0 : ends.back(); }
};

// Writes the terms of documents into blocks.
class BlockWriter {
public:
    // Memory is set aside for what so many characters will need, as far as one can tell.
    // A block ends with the first document beyond its size, so there is room for that one, too.
    BlockWriter(size_t n_characters, const Options& options)
        : expected_(std::min(BLOCK + BLOCK / 4, n_characters / (options.are_characters ? 1 : 8))) {}

    // `most` is the largest number of terms that the document may have.
    void begin_document(size_t most) {
        if (blocks_.empty() || n_entries_ >= BLOCK) {
            blocks_.emplace_back();
            blocks_.back().entries.reserve(expected_, 0);
            n_entries_ = 0;
        }
        blocks_.back().entries.reserve(n_entries_ + most, n_entries_);
        entries_ = blocks_.back().entries.data();
        start_ = n_entries_;
    }

    void end_document() { blocks_.back().ends.push_back(n_entries_); }

    std::vector<Block> release() { return std::move(blocks_); }

protected:
    Entry* entries_ = nullptr;          // of the current block
    size_t n_entries_ = 0, start_ = 0;  // where the current document begins

private:
    std::vector<Block> blocks_;
    size_t expected_;
};

// Counts terms document by document.
class Counter : public BlockWriter {
public:
    using BlockWriter::BlockWriter;

    void begin_document(size_t most) {
        BlockWriter::begin_document(most);
        ++document_;
    }

    // Whether a term is new in its document cannot be predicted, so there is no branch on it.
    void add(Id id) {
        if (id >= marks_.size()) marks_.resize(std::max<size_t>(2 * marks_.size(), id + 1024));
        Mark& mark = marks_[id];
        const bool is_new = mark.document != document_;
        const uint32_t place = is_new ? uint32_t(n_entries_) : mark.place;
        n_entries_ += is_new;
        mark = {document_, place, mark.doc_freq + is_new, mark.term_freq + 1};
        Entry& entry = entries_[place];
        entry = {id, (is_new ? 0 : entry.count) + 1};
    }

    // Of how many ids something is known, and what.
    size_t n_marks() const { return marks_.size(); }
    uint32_t doc_freq(size_t id) const { return marks_[id].doc_freq; }
    uint32_t term_freq(size_t id) const { return marks_[id].term_freq; }

private:
    struct Mark {
        uint32_t document = 0;  // the last one it was seen in; they are numbered from 1
        uint32_t place = 0;     // of its entry in the block
        uint32_t doc_freq = 0, term_freq = 0;
    };

    std::vector<Mark> marks_;
    uint32_t document_ = 0;
};

// Counts the terms of one document at a time, in a table that is so small that it stays in the
// cache, however many terms there are.
class DistinctTerms {
public:
    // Write each term once, in order of first appearance, with its count; returns how many.
    // There must be room for all of them.
    size_t count(const std::vector<Id>& ids, Entry* entries) {
        int bits = LEAST_BITS;
        while ((size_t{1} << bits) < 2 * ids.size()) ++bits;
        places_.assign(size_t{1} << bits, 0);
        const size_t mask = places_.size() - 1;
        size_t n = 0;
        for (const Id id : ids) {
            size_t slot = (id * hash_seeds.first) >> (64 - bits);
            while (places_[slot] != 0 && entries[places_[slot] - 1].id != id)
                slot = (slot + 1) & mask;
            if (places_[slot] == 0) {
                entries[n] = {id, 0};
                places_[slot] = uint32_t(++n);
            }
            ++entries[places_[slot] - 1].count;
        }
        return n;
    }

private:
    static constexpr int LEAST_BITS = 6;

    std::vector<uint32_t> places_;  // of entries, from 1 up; 0: free
};

// Counts terms that are all known, document by document.
class KnownTermsCounter : public BlockWriter {
public:
    using BlockWriter::BlockWriter;

    void add_all(const std::vector<Id>& ids) {
        n_entries_ += distinct_.count(ids, entries_ + n_entries_);
    }

private:
    DistinctTerms distinct_;
};

// The n-grams of characters of a document: of each word, with a space on either side of it. Words
// come back so often that the n-grams of a word are looked up once, then remembered.
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
            throw std::length_error("a document of 2 GB or more: cut it into smaller ones");
        const uint8_t* const end = fold(text);
        for (const uint8_t* place = bytes_.get() + 1;;) {
            while (place < end && *place == ' ') ++place;
            if (place >= end) return;
            const Word word = word_at(place, end);
            if (word.size == 0) {  // too long to come back
                const auto* behind =
                    static_cast<const uint8_t*>(std::memchr(place, ' ', size_t(end - place) + 1));
                each_ngram(place, behind, sink);
                place = behind;
                continue;
            }
            const Id id = words_.add_word(word);
            if (id + 1 == ends_.size()) {
                each_ngram(place, place + word.size, [&](Id ngram) {
                    if (ngram != NO_ID) ngrams_.push_back(ngram);
                });
                ends_.push_back(ngrams_.size());
            }
            for (size_t k = ends_[id]; k < ends_[id + 1]; ++k) sink(ngrams_[k]);
            watch_.did(4 * (ends_[id + 1] - ends_[id]) + 20);
            if (ngrams_.size() > MOST_REMEMBERED) forget();
            place += word.size + 1;
        }
    }

private:
    // Write the text as UTF-8, all white space one space per character, and a space before and
    // behind it; return where that is. Sixteen bytes can be read from any character.
    const uint8_t* fold(const Document& text) {
        const size_t most = (text.is_ascii ? 1 : 4) * text.length + 2 + Word::SHORT;
        if (n_bytes_ < most) {
            bytes_.reset(new uint8_t[most + most / 2]);
            n_bytes_ = most + most / 2;
        }
        uint8_t* out = bytes_.get();
        *out++ = ' ';
        for (size_t start = 0; start < text.length; start += PAUSE) {
            const size_t n = std::min(PAUSE, text.length - start);
            watch_.did(CHARACTER * n);
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
        const auto spaced = [](uint8_t c) { return c == 0 ? uint8_t(' ') : c; };
        if (options_.lowercase)
            for (size_t i = 0; i < n; ++i) out[i] = spaced(visible_ascii<true>(data[i]));
        else
            for (size_t i = 0; i < n; ++i) out[i] = spaced(visible_ascii<false>(data[i]));
        return out + n;
    }

    template <typename Char>
    uint8_t* fold_wide(const Char* data, size_t n, uint8_t* out, const Document& text) const {
        const Characters& folded = visible_characters();
        const bool lowercase = options_.lowercase && !text.is_prepared;
        for (size_t i = 0; i < n; ++i) {
            const uint32_t lower = folded[data[i]];
            const uint32_t c = lower == 0 ? ' ' : lowercase ? lower : data[i];
            out += put_utf8(reinterpret_cast<char*>(out), c);
        }
        return out;
    }

    // The word that starts here, empty where it is too long to be remembered.
    static Word word_at(const uint8_t* place, const uint8_t* end) {
        const Run first = Run::to_space(place);
        if (first.size < 8) return {first.kept, 0, nullptr, uint32_t(first.size)};
        const Run second = Run::to_space(place + 8);
        if (second.size < 8) return {first.kept, second.kept, nullptr, uint32_t(8 + second.size)};
        const size_t within = std::min(LONGEST_REMEMBERED + 1, size_t(end - place) + 1);
        const void* behind = std::memchr(place, ' ', within);
        if (!behind) return {0, 0, nullptr, 0};
        return Word::of(reinterpret_cast<const char*>(place),
                        size_t(static_cast<const uint8_t*>(behind) - place));
    }

    // The shortest ones first. A padded word that is no longer than an n-gram is taken whole, once.
    template <typename Take>
    void each_ngram(const uint8_t* word, const uint8_t* behind, Take&& take) {
        const uint8_t *const first = word - 1, *const last = behind + 1;
        bool is_whole = false;
        for (size_t n = options_.shortest; n <= options_.longest && !is_whole; ++n) {
            const uint8_t *start = first, *end = first;
            for (size_t k = 0; k < n && end < last; ++k) end = next(end);
            is_whole = end == last;
            for (;;) {
                cut_[n_cut_++] = ngram(start, size_t(end - start));
                if (n_cut_ == cut_.size()) look_up(take);
                if (end == last) break;
                start = next(start);
                end = next(end);
            }
        }
        look_up(take);
    }

    template <typename Take>
    void look_up(Take& take) {
        vocabulary_.words(cut_.data(), ids_.data(), n_cut_);
        watch_.did(20 * n_cut_);
        for (size_t k = 0; k < n_cut_; ++k) take(ids_[k]);
        n_cut_ = 0;
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

    void forget() {
        words_ = Terms();
        ngrams_.clear();
        ends_.assign(1, 0);
    }

    static constexpr size_t TOGETHER = 128;  // n-grams that are looked up at a time

    Vocabulary& vocabulary_;
    const Options& options_;
    Watch& watch_;
    std::array<Word, TOGETHER> cut_;
    std::array<Id, TOGETHER> ids_;
    size_t n_cut_ = 0;
    std::unique_ptr<uint8_t[]> bytes_;
    size_t n_bytes_ = 0;
    Terms words_;                  // those that are remembered
    std::vector<Id> ngrams_;       // of each of them
    std::vector<size_t> ends_{0};  // of each of them, in ngrams_
};

// From the words of a document to its terms: stop words dropped, n-grams made. `Vocabulary` says
// what happens to a word or pair that is new: it is added, or it is NO_ID.
template <typename Vocabulary>
class TermMaker {
public:
    TermMaker(Vocabulary& vocabulary, const Options& options, size_t n_stop_words, Watch& watch)
        : vocabulary_(vocabulary),
          shortest_(options.shortest),
          longest_(options.longest),
          are_characters_(options.are_characters),
          n_stop_words_(n_stop_words),
          watch_(watch),
          tokenizer_(options, watch),
          character_ngrams_(vocabulary, options, watch) {}

    // No text has more terms: a word, if it is a masked digit, takes one character and one that
    // separates it. Of characters, such a word has three n-grams of each size.
    size_t most_terms(const Document& text) const {
        const size_t most_words = text.length / 2 + 1;
        return (are_characters_ ? 3 : 1) * most_words * (longest_ - shortest_ + 1);
    }

    template <typename Sink>
    void operator()(const Document& text, Sink&& sink) {
        read(text);
        each_term(sink);
    }

    // The first half of that: find the words, and begin to load what is known of their pairs, so
    // that something else can be done before `each_term`, the second half. `text` must last.
    void read(const Document& text) {
        text_ = &text;
        if (are_characters_) return;
        words_.clear();
        tokenizer_(text, [&](const Word& word) {
            const Id id = vocabulary_.word(word);
            if (id == NO_ID || id >= n_stop_words_) words_.push_back(id);
        });
        if (longest_ > 1 && words_.size() > 1)
            vocabulary_.expect_pairs(words_.data(), words_.data() + 1,
                                     std::min(words_.size() - 1, PAUSE));
    }

    template <typename Sink>
    void each_term(Sink&& sink) {
        if (are_characters_) {
            character_ngrams_(*text_, sink);
            return;
        }
        if (shortest_ == 1)
            for (const Id word : words_) sink(word);
        if (longest_ == 1) return;
        terms_ = words_;
        for (size_t n = 2; n <= std::min(longest_, words_.size()); ++n) {
            terms_.pop_back();  // there is no word behind the last
            longer_.resize(terms_.size());
            const Id* behind = words_.data() + n - 1;
            for (size_t start = 0; start < terms_.size(); start += PAUSE) {
                const size_t n_pairs = std::min(PAUSE, terms_.size() - start);
                const Id *firsts = terms_.data() + start, *seconds = behind + start;
                if (n > 2 || start > 0) vocabulary_.expect_pairs(firsts, seconds, n_pairs);
                vocabulary_.pairs(firsts, seconds, longer_.data() + start, n_pairs);
                watch_.did(100 * n_pairs);
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

struct Growing {
    Terms& terms;
    Id word(const Word& word) { return terms.add_word(word); }
    void words(const Word* words, Id* found, size_t n) { terms.add_words(words, found, n); }
    void expect_pairs(const Id* firsts, const Id* words, size_t n) const {
        terms.expect_pairs(firsts, words, n);
    }
    void pairs(const Id* firsts, const Id* words, Id* found, size_t n) {
        terms.add_pairs(firsts, words, found, n);
    }
};

struct Fixed {
    Terms& terms;
    Id word(const Word& word) { return terms.find_word(word); }
    void words(const Word* words, Id* found, size_t n) { terms.find_words(words, found, n); }
    void expect_pairs(const Id* firsts, const Id* words, size_t n) const {
        terms.expect_pairs(firsts, words, n);
    }
    void pairs(const Id* firsts, const Id* words, Id* found, size_t n) {
        terms.find_pairs(firsts, words, found, n);
    }
};

// The stop words come first, so that a word is one where its id is below their number, which is
// returned.
size_t add_stop_words(Terms& terms, const Options& options) {
    for (const std::string& word : options.stop_words)
        terms.add_word(Word::of(word.data(), word.size()));
    return terms.size();
}

// --- parts of the work ---------------------------------------------------------------------------

// Cut documents into parts of about equal length, one per thread; at least one part.
std::vector<std::pair<size_t, size_t>> parts_of(const Documents& documents, int64_t asked) {
    const size_t n_threads = checked_threads(asked, documents.size());
    size_t total = documents.size();
    for (size_t k = 0; k < documents.size(); ++k) total += documents[k].length;
    std::vector<std::pair<size_t, size_t>> parts;
    size_t start = 0, done = 0;
    for (size_t part = 0; part < n_threads; ++part) {
        size_t end = start;
        while (end < documents.size() &&
               (part + 1 == n_threads || done * n_threads < total * (part + 1)))
            done += documents[end++].length + 1;
        parts.emplace_back(start, end);
        start = end;
    }
    return parts;
}

size_t characters_of(const Documents& documents, const std::pair<size_t, size_t>& part) {
    size_t total = 0;
    for (size_t k = part.first; k < part.second; ++k) total += documents[k].length;
    return total;
}

// --- occurrence matrices -------------------------------------------------------------------------

// A sparse matrix as scipy wants it.
template <typename Value>
struct Csr {
    Output<Value> values;
    Output<int32_t> columns;
    Output<int64_t> ends;

    nb::tuple handed_over() {
        return nb::make_tuple(values.handed_over(), columns.handed_over(), ends.handed_over());
    }
};

// Keep the entries that have a column, with the column in place of the id; note the row sizes.
void keep_columns(Block& block, const std::vector<int32_t>& column_of, int64_t* row_sizes) {
    size_t entry = 0, kept = 0;
    for (size_t row = 0; row < block.ends.size(); ++row) {
        const size_t start = kept;
        for (; entry < block.ends[row]; ++entry) {
            const int32_t column = column_of[block.entries[entry].id];
            block.entries[kept] = {Id(column), block.entries[entry].count};
            kept += column >= 0;
        }
        row_sizes[row] = int64_t(kept - start);
        block.ends[row] = kept;
    }
}

// What becomes of a count: itself, or its weight by sublinear tf-idf with rows of length 1, in the
// order of additions of weightings/_unit_rows.py.
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
        for (size_t place = 0; place < n; ++place) squares += row[place] * row[place];
        // factors of terms that see labels may all be 0
        const double length = squares > 0 ? std::sqrt(squares) : 1;
        for (size_t place = 0; place < n; ++place) row[place] /= length;
    }
};

// Writes the rows of a block into a CSR matrix, columns rising within each row.
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

    // The ids of the block's entries are columns; row k starts at row_starts[k] of the matrix.
    void write(Block& block, const int64_t* row_starts) {
        const size_t n_rows = block.ends.size();
        for (size_t first = 0, last = 0; first < n_rows; first = last) {
            const size_t start = first == 0 ? 0 : block.ends[first - 1];
            const size_t most = start + std::max(n_columns_, SORTED_ENTRIES);
            while (last < n_rows && last < first + SORTED_ROWS && block.ends[last] <= most) ++last;
            last = std::max(last, first + 1);
            watch_.did(10 * (block.ends[last - 1] - start) + last - first);
            if (block.ends[last - 1] - start < n_columns_ / 8)
                sort_each_row(block, first, last, start, row_starts);
            else
                sort_by_two_passes(block, first, last, start, row_starts);
            for (size_t row = first; row < last; ++row)
                weighting_.finish_row(values_ + row_starts[row],
                                      size_t(row_starts[row + 1] - row_starts[row]));
        }
    }

private:
    void put(int64_t place, size_t column, uint32_t count) {
        columns_[place] = int32_t(column);
        values_[place] = weighting_(column, count);
    }

    void sort_each_row(Block& block, size_t first, size_t last, size_t start,
                       const int64_t* row_starts) {
        for (size_t row = first; row < last; ++row) {
            Entry* begin = block.entries.data() + start;
            Entry* end = block.entries.data() + block.ends[row];
            std::sort(begin, end, [](const Entry& a, const Entry& b) { return a.id < b.id; });
            int64_t place = row_starts[row];
            for (const Entry* entry = begin; entry != end; ++entry)
                put(place++, entry->id, entry->count);
            start = block.ends[row];
        }
    }

    // Into buckets by column, then from the buckets, lowest column first, into the rows: no
    // comparison, and so few rows that they stay in the cache.
    void sort_by_two_passes(const Block& block, size_t first, size_t last, size_t start,
                            const int64_t* row_starts) {
        const Entry* entries = block.entries.data();
        const size_t end = block.ends[last - 1];
        bucket_.assign(n_columns_ + 1, 0);
        for (size_t entry = start; entry < end; ++entry) ++bucket_[entries[entry].id + 1];
        for (size_t column = 1; column <= n_columns_; ++column)
            bucket_[column] += bucket_[column - 1];
        cells_.resize(end - start);
        size_t entry = start;
        for (size_t row = first; row < last; ++row)
            for (; entry < block.ends[row]; ++entry)
                cells_[bucket_[entries[entry].id]++] = {uint32_t(row - first),
                                                        entries[entry].count};
        // the bucket of a column now ends where the next one starts
        next_.assign(row_starts + first, row_starts + last);
        size_t cell = 0;
        for (size_t column = 0; column < n_columns_; ++column)
            for (; cell < bucket_[column]; ++cell)
                put(next_[cells_[cell].row]++, column, cells_[cell].count);
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
    std::vector<uint32_t> bucket_;
    std::vector<int64_t> next_;
};

// The terms of one document that have a column, with the same weights.
struct WeightedDocument {
    static constexpr size_t AHEAD = 8;

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
            if (entry + AHEAD < n) prefetch(&column_of[entries[entry + AHEAD].id]);
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

// One thread's share of counted documents, with ids of its own and the column of each id.
struct Share {
    std::vector<Block> blocks;
    std::shared_ptr<const std::vector<int32_t>>
        column_of;  // a vocabulary's are far more than a text
};

// Write the rows of all shares, each in a thread of its own. A block is gone once it is written:
// at a million documents the blocks weigh as much as the matrix.
template <typename Weighting>
Csr<typename Weighting::Value> write_rows(std::vector<Share>& shares, size_t n_columns,
                                          const Weighting& weighting) {
    std::vector<size_t> first_row(shares.size() + 1, 0);
    for (size_t part = 0; part < shares.size(); ++part) {
        first_row[part + 1] = first_row[part];
        for (const Block& block : shares[part].blocks) first_row[part + 1] += block.ends.size();
    }
    const size_t n_rows = first_row.back();
    Output<int64_t> ends(n_rows + 1);
    in_threads(shares.size(), [&](size_t part, Watch& watch) {
        int64_t* sizes = ends.data() + 1 + first_row[part];
        for (Block& block : shares[part].blocks) {
            watch.did(4 * block.size());
            keep_columns(block, *shares[part].column_of, sizes);
            sizes += block.ends.size();
        }
    });
    ends.data()[0] = 0;
    for (size_t row = 0; row < n_rows; ++row) ends.data()[row + 1] += ends.data()[row];
    const auto n_values = size_t(ends.data()[n_rows]);
    Output<typename Weighting::Value> values(n_values);
    Output<int32_t> columns(n_values);
    in_threads(shares.size(), [&](size_t part, Watch& watch) {
        RowWriter<Weighting> writer(n_columns, weighting, columns.data(), values.data(), watch);
        const int64_t* starts = ends.data() + first_row[part];
        for (Block& block : shares[part].blocks) {
            writer.write(block, starts);
            starts += block.ends.size();
            block.entries = Entries();
        }
    });
    return {std::move(values), std::move(columns), std::move(ends)};
}

// --- sums over documents -------------------------------------------------------------------------

// What word-class embeddings are made of, added up in the order of the documents: of each term
// the documents, weights and squares; where asked for, weights or documents in each class too.
class Sums {
public:
    Sums(size_t n_terms, size_t n_classes, bool of_weights, bool of_documents)
        : n_terms_(n_terms),
          n_classes_(n_classes),
          of_weights_(of_weights),
          of_documents_(of_documents) {
        if (n_terms > MAX_TERMS || (n_classes != 0 && n_terms > MAX_TERMS / n_classes))
            throw nb::value_error("too many terms and classes for a dense table");
        totals_.resize(n_terms);
        joint_weight_.resize(of_weights ? n_terms * n_classes : 0, 0.0);
        joint_docs_.resize(of_documents ? n_terms * n_classes : 0, 0.0);
    }

    void add(const int32_t* columns, const double* weights, size_t n, const int32_t* labels,
             size_t n_labels, Watch& watch) {
        watch.did(4 * n * (n_labels + 1));
        for (size_t place = 0; place < n; ++place) {
            const auto term = size_t(columns[place]);
            const double weight = weights[place];
            totals_[term].docs += 1;
            totals_[term].weights += weight;
            totals_[term].squares += weight * weight;
            for (size_t label = 0; label < n_labels; ++label) {
                const size_t cell = term * n_classes_ + size_t(labels[label]);
                if (of_weights_) joint_weight_[cell] += weight;
                if (of_documents_) joint_docs_[cell] += 1;
            }
        }
    }

    // (documents, weights, squares, weights by class, documents by class); the last two as CSR
    // (values, columns, ends), or None
    nb::tuple handed_over() {
        Output<double> docs(n_terms_), weights(n_terms_), squares(n_terms_);
        for (size_t term = 0; term < n_terms_; ++term) {
            docs.data()[term] = totals_[term].docs;
            weights.data()[term] = totals_[term].weights;
            squares.data()[term] = totals_[term].squares;
        }
        return nb::make_tuple(docs.handed_over(), weights.handed_over(), squares.handed_over(),
                              of_weights_ ? compressed(joint_weight_) : nb::none(),
                              of_documents_ ? compressed(joint_docs_) : nb::none());
    }

private:
    nb::object compressed(const std::vector<double>& cells) const {
        const auto n_values = size_t(
            std::count_if(cells.begin(), cells.end(), [](double cell) { return cell != 0; }));
        Csr<double> made{Output<double>(n_values), Output<int32_t>(n_values),
                         Output<int64_t>(n_terms_ + 1)};
        Watch watch;
        size_t place = 0;
        for (size_t term = 0; term < n_terms_; ++term) {
            watch.did(n_classes_);
            made.ends.data()[term] = int64_t(place);
            for (size_t label = 0; label < n_classes_; ++label) {
                const double cell = cells[term * n_classes_ + label];
                if (cell == 0) continue;
                made.values.data()[place] = cell;
                made.columns.data()[place++] = int32_t(label);
            }
        }
        made.ends.data()[n_terms_] = int64_t(place);
        return made.handed_over();
    }

    size_t n_terms_, n_classes_;
    bool of_weights_, of_documents_;
    struct Total {
        double docs = 0, weights = 0, squares = 0;
    };

    std::vector<Total> totals_;  // of each term, in one place
    std::vector<double> joint_weight_, joint_docs_;
};

// --- counted texts -------------------------------------------------------------------------------

// Terms with an id each, in no order, and in how many documents and how often they occur.
class TermTable {
public:
    size_t n_docs() const { return n_docs_; }

    Array<int64_t> doc_freq() const { return handed_over(std::vector<int64_t>(doc_freq_)); }
    Array<int64_t> term_freq() const { return handed_over(std::vector<int64_t>(term_freq_)); }

    // Sort ids by their terms; UTF-8 sorts as code points do. Returns (ids, terms).
    nb::tuple sorted(Vector<int64_t> ids) const {
        std::vector<Found> found(ids.size());
        {
            nb::gil_scoped_release no_gil;
            Watch watch;
            for (size_t j = 0; j < ids.size(); ++j) {
                watch.did(100);
                const int64_t id = ids.data()[j];
                if (id < 0 || size_t(id) >= terms_.size()) throw nb::value_error("no such term");
                terms_.append_to(found[j].term, Id(id));
                found[j].prefix = leading_bytes(found[j].term);
                found[j].id = id;
            }
            std::sort(found.begin(), found.end(), [&](const Found& a, const Found& b) {
                watch.did(10);
                return a.prefix != b.prefix ? a.prefix < b.prefix : a.term < b.term;
            });
        }
        Output<int64_t> order(found.size());
        auto names = nb::steal<nb::list>(PyList_New(Py_ssize_t(found.size())));
        if (!names.is_valid()) throw nb::python_error();
        for (size_t j = 0; j < found.size(); ++j) {
            order.data()[j] = found[j].id;
            const std::string& term = found[j].term;
            PyObject* name = PyUnicode_FromStringAndSize(term.data(), Py_ssize_t(term.size()));
            if (!name) throw nb::python_error();
            PyList_SET_ITEM(names.ptr(), Py_ssize_t(j), name);
        }
        return nb::make_tuple(order.handed_over(), names);
    }

protected:
    // A term to be sorted; the first bytes, as a number, decide nearly always.
    struct Found {
        uint64_t prefix;
        int64_t id;
        std::string term;
    };

    static uint64_t leading_bytes(const std::string& term) {
        uint64_t bytes = 0;
        for (size_t k = 0; k < 8; ++k)
            bytes = (bytes << 8) | (k < term.size() ? uint8_t(term[k]) : 0);
        return bytes;
    }

    size_t n_docs_ = 0;
    Terms terms_;
    std::vector<int64_t> doc_freq_, term_freq_;
};

// Counts in how many documents terms occur, and forgets the documents: for corpora that are read
// piece by piece. Each thread has a dictionary of its own until `finish` makes one of them.
class TermCounter : public TermTable {
public:
    TermCounter(const Options& options, int64_t n_threads)
        : options_(options),
          parts_(checked_threads(n_threads, SIZE_MAX)) {
        for (Part& part : parts_) part.n_stop_words = add_stop_words(part.terms, options_);
    }
    TermCounter(const TermCounter&) = delete;

    void add(const Documents& documents) {
        const OneAtATime turn(is_taken_);
        check(!parts_.empty(), "these counts are finished, or were broken off");
        nb::gil_scoped_release no_gil;
        const auto shares = parts_of(documents, int64_t(parts_.size()));
        try {
            in_threads(shares.size(), [&](size_t share, Watch& watch) {
                Part& part = parts_[share];
                Growing growing{part.terms};
                TermMaker<Growing> make_terms(growing, options_, part.n_stop_words, watch);
                for (size_t k = shares[share].first; k < shares[share].second; ++k) {
                    ++part.document;
                    make_terms(documents[k], [&](Id id) { part.add(id); });
                }
            });
        } catch (...) {
            parts_.clear();  // some of these documents are counted, others are not
            throw;
        }
        n_docs_ += documents.size();
    }

    void finish() {
        const OneAtATime turn(is_taken_);
        check(!parts_.empty(), "these counts are finished, or were broken off");
        nb::gil_scoped_release no_gil;
        std::vector<Part> parts = std::exchange(parts_, {});
        Watch watch;
        for (Part& part : parts) {
            // the first dictionary is taken as it is, which is all there is to do for one thread
            std::vector<Id> ids;
            if (terms_.size() == 0 && &part == &parts.front())
                terms_ = std::move(part.terms);
            else
                ids = terms_.add_all(part.terms, watch);
            doc_freq_.resize(terms_.size(), 0);
            term_freq_.resize(terms_.size(), 0);
            for (size_t id = 0; id < std::min(part.tallies.size(), terms_.size()); ++id) {
                if (part.tallies[id].doc_freq == 0) continue;
                const size_t merged = ids.empty() ? id : ids[id];
                doc_freq_[merged] += part.tallies[id].doc_freq;
                term_freq_[merged] += part.tallies[id].term_freq;
            }
        }
    }

private:
    struct Tally {
        uint64_t document = 0;  // the last one it was seen in; they are numbered from 1
        int64_t doc_freq = 0, term_freq = 0;
    };

    struct Part {
        Terms terms;
        std::vector<Tally> tallies;
        size_t n_stop_words = 0;
        uint64_t document = 0;

        void add(Id id) {
            if (id >= tallies.size())
                tallies.resize(std::max<size_t>(2 * tallies.size(), id + 1024));
            Tally& tally = tallies[id];
            tally.doc_freq += tally.document != document;
            tally.document = document;
            ++tally.term_freq;
        }
    };

    Options options_;
    std::vector<Part> parts_;  // none any more when the counts are finished
    std::atomic<bool> is_taken_{false};
};

// Every term of every document, each with an id; Python chooses which ids become columns.
class CountedTexts : public TermTable {
public:
    CountedTexts(const CountedTexts&) = delete;

    CountedTexts(const Documents& documents, const Options& options, int64_t n_threads) {
        documents.check_total(options.are_characters);
        nb::gil_scoped_release no_gil;
        n_docs_ = documents.size();
        const auto parts = parts_of(documents, n_threads);
        std::vector<Terms> terms(parts.size());
        std::vector<Counter> counters;
        for (const auto& part : parts)
            counters.emplace_back(characters_of(documents, part), options);
        in_threads(parts.size(), [&](size_t part, Watch& watch) {
            const size_t n_stop_words = add_stop_words(terms[part], options);
            Growing growing{terms[part]};
            TermMaker<Growing> make_terms(growing, options, n_stop_words, watch);
            for (size_t k = parts[part].first; k < parts[part].second; ++k) {
                counters[part].begin_document(make_terms.most_terms(documents[k]));
                make_terms(documents[k], [&](Id id) { counters[part].add(id); });
                counters[part].end_document();
            }
        });
        merge(terms, counters);
    }

    // The largest number of times that a term occurs in one document.
    uint32_t max_count() const { return max_count_; }

    // The occurrences of the terms that have a column (one entry per id, -1 for none). The counts
    // are handed over: they can be had once.
    nb::tuple occurrences(Vector<int32_t> column_of, size_t n_columns) {
        return rows(column_of, n_columns, Counts{});
    }

    // The same, weighted by sublinear tf-idf with rows of length 1.
    nb::tuple tfidf_rows(Vector<int32_t> column_of, Vector<double> idf, Vector<double> damped) {
        check(damped.size() > max_count_, "a count without damping");
        return rows(column_of, idf.size(), Tfidf(idf, damped));
    }

    // The sums over documents weighted by sublinear tf-idf with rows of length 1, without making
    // the matrix of weights. The counts are handed over here, too.
    nb::tuple tfidf_sums(Vector<int32_t> column_of, Vector<double> idf, Vector<double> damped,
                         Vector<int32_t> classes, Vector<int64_t> class_ends, size_t n_classes,
                         bool of_weights, bool of_documents) {
        check_csr(class_ends, classes, n_classes);
        check(class_ends.size() == n_docs_ + 1, "labels of other documents");
        check(damped.size() > max_count_, "a count without damping");
        hand_over(column_of, idf.size());
        Sums sums(idf.size(), n_classes, of_weights, of_documents);
        {
            nb::gil_scoped_release no_gil;
            Watch watch;
            const Tfidf weighting(idf, damped);
            WeightedDocument document;
            size_t row = 0;
            for (const Share& share : shares_)
                for (const Block& block : share.blocks)
                    for (size_t k = 0; k < block.ends.size(); ++k, ++row) {
                        const size_t start = k == 0 ? 0 : block.ends[k - 1];
                        document.weigh(block.entries.data() + start, block.ends[k] - start,
                                       *share.column_of, weighting);
                        const int64_t label = class_ends.data()[row];
                        sums.add(document.columns.data(), document.weights.data(), document.size,
                                 classes.data() + label, size_t(class_ends.data()[row + 1] - label),
                                 watch);
                    }
            shares_.clear();
        }
        return sums.handed_over();
    }

private:
    template <typename Weighting>
    nb::tuple rows(const Vector<int32_t>& column_of, size_t n_columns, const Weighting& weighting) {
        hand_over(column_of, n_columns);
        auto made = [&]() {
            nb::gil_scoped_release no_gil;
            return write_rows(shares_, n_columns, weighting);
        }();
        return made.handed_over();
    }

    // Tell every share the columns of its own ids; to be done once.
    void hand_over(const Vector<int32_t>& column_of, size_t n_columns) {
        check(column_of.size() == terms_.size(), "expected one column per term");
        check(n_columns < MAX_TERMS, "too many columns");
        for (size_t id = 0; id < column_of.size(); ++id)
            check(column_of.data()[id] >= -1 && column_of.data()[id] < int64_t(n_columns),
                  "no such column");
        check(!are_handed_over_, "these counts were handed over before");
        are_handed_over_ = true;
        for (size_t part = 0; part < shares_.size(); ++part) {
            const std::vector<Id>& merged = merged_ids_[part];
            std::vector<int32_t> columns(part == 0 ? terms_.size() : merged.size());
            for (size_t id = 0; id < columns.size(); ++id)
                columns[id] = column_of.data()[part == 0 ? id : merged[id]];
            shares_[part].column_of =
                std::make_shared<const std::vector<int32_t>>(std::move(columns));
        }
    }

    // The dictionary of the first thread takes in those of the others; its own ids stay.
    void merge(std::vector<Terms>& terms, std::vector<Counter>& counters) {
        Watch watch;
        terms_ = std::move(terms[0]);
        merged_ids_.resize(terms.size());
        for (size_t part = 1; part < terms.size(); ++part)
            merged_ids_[part] = terms_.add_all(terms[part], watch);
        doc_freq_.assign(terms_.size(), 0);
        term_freq_.assign(terms_.size(), 0);
        for (size_t part = 0; part < terms.size(); ++part) {
            shares_.push_back({counters[part].release(), {}});
            for (const Block& block : shares_.back().blocks) {
                watch.did(block.size());
                for (size_t entry = 0; entry < block.size(); ++entry)
                    max_count_ = std::max(max_count_, block.entries[entry].count);
            }
            const size_t n_ids = part == 0 ? terms_.size() : merged_ids_[part].size();
            for (size_t id = 0; id < std::min(n_ids, counters[part].n_marks()); ++id) {
                const size_t merged = part == 0 ? id : merged_ids_[part][id];
                doc_freq_[merged] += counters[part].doc_freq(id);
                term_freq_[merged] += counters[part].term_freq(id);
            }
        }
    }

    std::vector<std::vector<Id>> merged_ids_;  // of each thread but the first
    std::vector<Share> shares_;
    uint32_t max_count_ = 0;
    bool are_handed_over_ = false;
};

// --- fixed vocabulary ----------------------------------------------------------------------------

class FixedVocabulary {
public:
    // What is known of terms lies in memory as `order` tells: with frequent ones first, the cache
    // holds what is needed most.
    FixedVocabulary(const std::vector<std::string>& terms, const Options& options,
                    const std::optional<Vector<int64_t>>& order)
        : options_(options) {
        check(terms.size() < MAX_TERMS, "too many terms");
        check(!order || order->size() == terms.size(), "expected every term in the order");
        n_stop_words_ = add_stop_words(terms_, options);
        std::vector<int32_t> column_of;
        for (size_t place = 0; place < terms.size(); ++place) {
            const size_t column = order ? size_t(order->data()[place]) : place;
            check(column < terms.size(), "no such term");
            const Id id = add(terms[column]);
            column_of.resize(terms_.size(), -1);
            column_of[id] = int32_t(column);
        }
        column_of.resize(terms_.size(), -1);
        column_of_ = std::make_shared<const std::vector<int32_t>>(std::move(column_of));
        n_columns_ = terms.size();
    }

    nb::tuple count(const Documents& documents, int64_t n_threads) {
        auto made = [&]() {
            nb::gil_scoped_release no_gil;
            const auto parts = parts_of(documents, n_threads);
            std::vector<Share> shares(parts.size());
            in_threads(parts.size(), [&](size_t part, Watch& watch) {
                KnownTermsCounter counter(characters_of(documents, parts[part]), options_);
                KnownTerms known(*this, watch);
                for (size_t k = parts[part].first; k < parts[part].second; ++k) {
                    known.read(documents[k]);
                    const std::vector<Id>& ids = known.found();
                    counter.begin_document(ids.size());
                    counter.add_all(ids);
                    counter.end_document();
                }
                shares[part] = {counter.release(), column_of_};
            });
            return write_rows(shares, n_columns_, Counts{});
        }();
        return made.handed_over();
    }

    // X W + intercept (n x m) of the sublinear tf-idf X of documents, which is never made: a
    // document is read, weighted and scored while all of it is in the cache. The terms are added
    // in order of first appearance.
    Array<float> weighted_sums(const Documents& documents, Vector<double> idf,
                               Vector<double> damped, Table<float> weights, Vector<float> intercept,
                               int64_t n_threads) {
        const size_t m = weights.shape(1);
        check(idf.size() == n_columns_ && weights.shape(0) == n_columns_,
              "expected one weight per term");
        check(intercept.size() == m, "expected one intercept per class");
        check(damped.size() > 1, "expected damped counts");
        const Tfidf weighting(idf, damped);
        n_threads = int64_t(checked_threads(n_threads, documents.size() / DOCUMENTS_TOGETHER + 1));
        Output<float> made(documents.size(), m);
        {
            nb::gil_scoped_release no_gil;
            std::atomic<size_t> next{0};
            in_threads(size_t(n_threads), [&](size_t, Watch& watch) {
                KnownTerms known(*this, watch);
                DistinctTerms distinct;
                Entries entries;
                WeightedDocument document;
                for (size_t k; (k = next.fetch_add(DOCUMENTS_TOGETHER)) < documents.size();) {
                    const size_t end = std::min(k + DOCUMENTS_TOGETHER, documents.size());
                    known.read(documents[k]);
                    for (; k < end; ++k) {
                        const std::vector<Id>& ids = known.found();
                        entries.reserve(ids.size(), 0);
                        document.weigh(entries.data(), distinct.count(ids, entries.data()),
                                       *column_of_, weighting);
                        // two kinds of memory are far away, and each is loaded while something
                        // else is done: the rows of this document, the pairs of the next
                        expect_weighted_rows(document.columns.data(), int64_t(document.size),
                                             weights.data(), m);
                        if (k + 1 < end) known.read(documents[k + 1]);
                        float* row = made.data() + k * m;
                        std::copy_n(intercept.data(), m, row);
                        add_weighted_rows(document.weights.data(), document.columns.data(),
                                          int64_t(document.size), weights.data(), row, m);
                        watch.did((document.size + 1) * (m / 4 + 10));
                    }
                }
            });
        }
        return made.handed_over();
    }

    // (columns int32, -1 for a token outside the vocabulary; ends int64 of the documents)
    nb::tuple index(const Documents& documents, int64_t n_threads) {
        check(!options_.are_characters, "n-grams of characters are in no one order");
        std::vector<std::vector<int32_t>> columns;
        Output<int64_t> ends(documents.size() + 1);
        size_t total = 0;
        {
            nb::gil_scoped_release no_gil;
            const auto parts = parts_of(documents, n_threads);
            columns.resize(parts.size());
            in_threads(parts.size(), [&](size_t part, Watch& watch) {
                Fixed fixed{terms_};
                TermMaker<Fixed> make_terms(fixed, options_, n_stop_words_, watch);
                for (size_t k = parts[part].first; k < parts[part].second; ++k) {
                    make_terms(documents[k], [&](Id id) {
                        columns[part].push_back(id == NO_ID ? -1 : (*column_of_)[id]);
                    });
                    ends.data()[k + 1] = int64_t(columns[part].size());
                }
            });
            ends.data()[0] = 0;
            for (size_t part = 0; part < parts.size(); ++part) {
                for (size_t k = parts[part].first; k < parts[part].second; ++k)
                    ends.data()[k + 1] += int64_t(total);
                total += columns[part].size();
            }
        }
        Output<int32_t> all(total);
        int32_t* place = all.data();
        for (const auto& part : columns) place = std::copy(part.begin(), part.end(), place);
        return nb::make_tuple(all.handed_over(), ends.handed_over());
    }

private:
    // Finds the known terms of documents, one thread's.
    class KnownTerms {
    public:
        KnownTerms(FixedVocabulary& vocabulary, Watch& watch)
            : fixed_{vocabulary.terms_},
              make_terms_(fixed_, vocabulary.options_, vocabulary.n_stop_words_, watch) {}

        void read(const Document& document) { make_terms_.read(document); }

        // Those of the document that was read last.
        const std::vector<Id>& found() {
            ids_.clear();
            make_terms_.each_term([&](Id id) {
                if (id != NO_ID) ids_.push_back(id);
            });
            return ids_;
        }

    private:
        Fixed fixed_;
        TermMaker<Fixed> make_terms_;
        std::vector<Id> ids_;
    };

    // A term of words with spaces is an n-gram: its words are in the dictionary too, without a
    // column.
    Id add(const std::string& term) {
        if (options_.are_characters) return terms_.add_word(Word::of(term.data(), term.size()));
        Id id = NO_ID;
        for (size_t start = 0; start <= term.size();) {
            const size_t end = std::min(term.find(' ', start), term.size());
            const Id word = terms_.add_word(Word::of(term.data() + start, end - start));
            id = id == NO_ID ? word : terms_.add_pair(id, word);
            start = end + 1;
        }
        return id;
    }

    static constexpr size_t DOCUMENTS_TOGETHER = 64;

    Options options_;
    Terms terms_;
    std::shared_ptr<const std::vector<int32_t>> column_of_;
    size_t n_columns_ = 0, n_stop_words_ = 0;
};

// --- weights -------------------------------------------------------------------------------------

// Sublinear tf-idf with rows of length 1, in the order of additions of weightings/_unit_rows.py.
Array<double> tfidf(Vector<int32_t> counts, Vector<int32_t> columns, Vector<int64_t> ends,
                    Vector<double> idf, Vector<double> damped) {
    check(counts.size() == columns.size(), "expected one count per column index");
    check_csr(ends, columns, idf.size());
    check_indices(counts, damped.size());
    const Tfidf weighting(idf, damped);
    Output<double> weights(counts.size());
    {
        nb::gil_scoped_release no_gil;
        Watch watch;
        for (size_t row = 0; row + 1 < ends.size(); ++row) {
            const auto start = size_t(ends.data()[row]);
            const auto end = size_t(ends.data()[row + 1]);
            watch.did(2 * (end - start) + 1);
            for (size_t place = start; place < end; ++place)
                weights.data()[place] =
                    weighting(size_t(columns.data()[place]), uint32_t(counts.data()[place]));
            weighting.finish_row(weights.data() + start, end - start);
        }
    }
    return weights.handed_over();
}

// Sums over documents whose weights are there already: X and Y as CSR without the values of Y.
nb::tuple sum_documents(Vector<double> weights, Vector<int32_t> columns, Vector<int64_t> ends,
                        Vector<int32_t> classes, Vector<int64_t> class_ends, size_t n_terms,
                        size_t n_classes, bool of_weights, bool of_documents) {
    check(ends.size() == class_ends.size() && columns.size() == weights.size(),
          "weights and labels of different documents");
    check_csr(ends, columns, n_terms);
    check_csr(class_ends, classes, n_classes);
    Sums sums(n_terms, n_classes, of_weights, of_documents);
    {
        nb::gil_scoped_release no_gil;
        Watch watch;
        for (size_t row = 0; row + 1 < ends.size(); ++row) {
            const int64_t start = ends.data()[row], label = class_ends.data()[row];
            sums.add(columns.data() + start, weights.data() + start,
                     size_t(ends.data()[row + 1] - start), classes.data() + label,
                     size_t(class_ends.data()[row + 1] - label), watch);
        }
    }
    return sums.handed_over();
}

Options made_options(bool mask_numbers, bool lowercase, size_t shortest, size_t longest,
                     const std::vector<std::string>& stop_words) {
    if (shortest < 1 || longest < shortest || longest > LONGEST_NGRAM)
        throw nb::value_error("no such n-grams");
    return {mask_numbers, lowercase, shortest, longest, stop_words};
}

Options made_character_options(bool lowercase, size_t shortest, size_t longest) {
    if (shortest < 1 || longest < shortest || longest > LONGEST_CHARACTERS)
        throw nb::value_error("no such n-grams");
    return {false, lowercase, shortest, longest, {}, true};
}

}  // namespace

void bind(nb::module_ module) {
    module.def("learn_characters", [](uint32_t first, Vector<uint32_t> folded) {
        characters().learn(first, folded.data(), folded.size());
    });
    module.def("learn_visible_characters", [](uint32_t first, Vector<uint32_t> folded) {
        visible_characters().learn(first, folded.data(), folded.size());
    });
    nb::class_<Options>(module, "Options");
    module.def("options", &made_options, nb::arg("mask_numbers"), nb::arg("lowercase"),
               nb::arg("shortest"), nb::arg("longest"), nb::arg("stop_words"));
    module.def("character_options", &made_character_options, nb::arg("lowercase"),
               nb::arg("shortest"), nb::arg("longest"));
    nb::class_<Documents>(module, "Documents")
        .def(nb::init<nb::list>())
        .def("width", &Documents::width)
        .def("special", &Documents::special)
        .def("replace", &Documents::replace);
    nb::class_<TermTable>(module, "TermTable")
        .def_prop_ro("n_docs", &TermTable::n_docs)
        .def("doc_freq", &TermTable::doc_freq)
        .def("term_freq", &TermTable::term_freq)
        .def("sorted", &TermTable::sorted);
    nb::class_<CountedTexts, TermTable>(module, "CountedTexts")
        .def(nb::init<const Documents&, const Options&, int64_t>())
        .def_prop_ro("max_count", &CountedTexts::max_count)
        .def("occurrences", &CountedTexts::occurrences)
        .def("tfidf_rows", &CountedTexts::tfidf_rows)
        .def("tfidf_sums", &CountedTexts::tfidf_sums);
    nb::class_<TermCounter, TermTable>(module, "TermCounter")
        .def(nb::init<const Options&, int64_t>())
        .def("add", &TermCounter::add)
        .def("finish", &TermCounter::finish);
    nb::class_<FixedVocabulary>(module, "FixedVocabulary")
        .def(nb::init<const std::vector<std::string>&, const Options&,
                      const std::optional<Vector<int64_t>>&>(),
             nb::arg("terms"), nb::arg("options"), nb::arg("order") = nb::none())
        .def("count", &FixedVocabulary::count)
        .def("weighted_sums", &FixedVocabulary::weighted_sums)
        .def("index", &FixedVocabulary::index);
    module.def("tfidf", &tfidf);
    module.def("sum_documents", &sum_documents);
}

}  // namespace engine

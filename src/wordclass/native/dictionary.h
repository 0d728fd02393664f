// The dictionary, which maps terms to ids by hash tables.

#pragma once

#include "engine.h"
#include "words.h"

namespace engine {

// A hash table with linear probing that is at most half full. A slot without an id is free.
template <typename SlotKey>
class HashTable {
public:
    struct Slot {
        SlotKey key;
        Id id = NO_ID;
    };

    HashTable() : slots_(size_t{1} << (64 - FIRST_SHIFT)) {}

    const Slot& first(uint64_t hash) const { return slots_[hash >> shift_]; }

    // Return the slot with the key, or the free slot for it.
    template <typename Same>
    Slot& find(uint64_t hash, const SlotKey& key, const Same& same) {
        const size_t mask = slots_.size() - 1;
        size_t index = hash >> shift_;
        while (slots_[index].id != NO_ID && !(slots_[index].key == key && same(slots_[index].id)))
            index = (index + 1) & mask;
        return slots_[index];
    }

    // This must be called after a slot is filled.
    template <typename Hash>
    void grow_if_full(const Hash& hash) {
        if (2 * ++n_filled_ < slots_.size()) return;
        std::vector<Slot, Allocator<Slot>> old(2 * slots_.size());
        old.swap(slots_);
        shift_ -= 1;
        const size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.id == NO_ID) continue;
            size_t index = hash(slot.key) >> shift_;
            while (slots_[index].id != NO_ID) index = (index + 1) & mask;
            slots_[index] = slot;
        }
    }

private:
    static constexpr int FIRST_SHIFT = 58;

    std::vector<Slot, Allocator<Slot>> slots_;
    int shift_ = FIRST_SHIFT;  // the index of a key is the upper bits of its hash
    size_t n_filled_ = 0;
};

// All terms. An n-gram is stored as a shorter term and one more word, so it needs no bytes.
class Dictionary {
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

    // Find many words at once, whose slots are loaded first. The id of an unknown word is NO_ID.
    void find_words(const Word* words, Id* ids, size_t n) {
        load_slots(words, n);
        for (size_t k = 0; k < n; ++k) ids[k] = find_word(words[k]);
    }

    void add_words(const Word* words, Id* ids, size_t n) {
        load_slots(words, n);
        for (size_t k = 0; k < n; ++k) ids[k] = add_word(words[k]);
    }

    // Load the slots of n-grams early, because their table exceeds the cache. The arguments are
    // those of `find_pairs`.
    void prefetch_pairs(const Id* terms, const Id* words, size_t n) const {
        for (size_t k = 0; k < n; ++k)
            prefetch_early(&pairs_.first(pair_hash(pair_key(terms[k], words[k]))));
    }

    // Find the n-grams of terms and the words after them. The id of an n-gram is NO_ID if it, its
    // term or its word is unknown.
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

    // Append a term, with its words joined by spaces.
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

    // Add all terms of another dictionary and return their ids in this one.
    std::vector<Id> add_all(const Dictionary& other, Watch& watch) {
        std::vector<Id> ids(other.size());
        for (Id id = 0; id < other.size(); ++id) {
            watch.add_steps(100);
            const Node& node = other.nodes_[id];
            ids[id] = node.word == NO_ID
                          ? add_word(Word::of(other.arena_.data() + node.offset, node.size_or_term))
                          : add_pair(ids[node.size_or_term], ids[node.word]);
        }
        return ids;
    }

private:
    struct Node {
        size_t offset;          // of a word: the start of its bytes
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

    void load_slots(const Word* words, size_t n) const {
        Id combined = 0;
        for (size_t k = 0; k < n; ++k)
            combined |= words[k].size <= 8
                            ? short_words_.first(pair_hash(words[k].low)).id
                            : words_.first(word_hash({words[k].low, words[k].high})).id;
        volatile Id used = combined;  // prevents compilers from omitting the loads
        static_cast<void>(used);
    }

    HashTable<uint64_t>::Slot& pair_slot(uint64_t key) {
        return pairs_.find(pair_hash(key), key, [](Id) { return true; });
    }

    static uint64_t word_hash(const WordKey& key) { return mix(key.low, key.high); }
    static uint64_t pair_key(Id term, Id word) { return (uint64_t(term) << 32) | word; }
    static uint64_t pair_hash(uint64_t key) { return mix(key, key >> 32); }

    Id add_node(const Node& node) {
        if (nodes_.size() >= MAX_TERMS)
            throw std::length_error(
                "there are more than 2^31 terms; raise min_docs or use shorter n-grams");
        nodes_.push_back(node);
        return Id(nodes_.size() - 1);
    }

    HashTable<uint64_t> short_words_;  // up to 8 bytes; small slots cause fewer cache misses
    HashTable<WordKey> words_;
    HashTable<uint64_t> pairs_;
    std::vector<Node> nodes_;
    std::vector<char> arena_;
};

}  // namespace engine

// Counts of the terms of each document, in chunks of memory.

#pragma once

#include "engine.h"

namespace engine {

// The number of entries of a chunk. Memory blocks of this size return to the system when they are
// freed. Smaller ones do not, which would waste a gigabyte for a million documents.
constexpr size_t CHUNK_ENTRIES = size_t{5} << 20;

struct Entry {
    Id id;
    uint32_t count;
};

// A vector that never writes unused memory, which therefore costs nothing.
class EntryBuffer {
public:
    Entry& operator[](size_t k) { return memory_[k]; }
    const Entry& operator[](size_t k) const { return memory_[k]; }
    Entry* data() { return memory_.get(); }
    const Entry* data() const { return memory_.get(); }

    // Reserve memory for n entries and copy the first `used` ones.
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
struct Chunk {
    EntryBuffer entries;
    std::vector<size_t> ends;  // of each document, in entries

    size_t size() const { return ends.empty() ? 0 : ends.back(); }
};

// Writes the terms of documents into chunks.
class ChunkWriter {
public:
    // Estimate the number of entries from the number of characters. A chunk ends with the first
    // document that exceeds its size, so there is memory for that one, too.
    ChunkWriter(size_t n_characters, const Options& options)
        : expected_(std::min(CHUNK_ENTRIES + CHUNK_ENTRIES / 4,
                             n_characters / (options.are_characters ? 1 : 8))) {}

    // `max_terms` is an upper limit of the number of terms of the document.
    void begin_document(size_t max_terms) {
        if (chunks_.empty() || n_entries_ >= CHUNK_ENTRIES) {
            chunks_.emplace_back();
            chunks_.back().entries.reserve(expected_, 0);
            n_entries_ = 0;
        }
        chunks_.back().entries.reserve(n_entries_ + max_terms, n_entries_);
        entries_ = chunks_.back().entries.data();
        start_ = n_entries_;
    }

    void end_document() { chunks_.back().ends.push_back(n_entries_); }

    std::vector<Chunk> release() { return std::move(chunks_); }

protected:
    Entry* entries_ = nullptr;  // of the current chunk
    size_t n_entries_ = 0;      // of the current chunk
    size_t start_ = 0;          // the first entry of the current document

private:
    std::vector<Chunk> chunks_;
    size_t expected_;
};

// Counts terms document by document.
class Counter : public ChunkWriter {
public:
    using ChunkWriter::ChunkWriter;

    void begin_document(size_t max_terms) {
        ChunkWriter::begin_document(max_terms);
        ++document_;
    }

    // There is no branch on new terms, because a processor could not predict it.
    void add(Id id) {
        if (id >= marks_.size()) marks_.resize(std::max<size_t>(2 * marks_.size(), id + 1024));
        Mark& mark = marks_[id];
        const bool is_new = mark.document != document_;
        const uint32_t index = is_new ? uint32_t(n_entries_) : mark.index;
        n_entries_ += is_new;
        mark = {document_, index, mark.doc_freq + is_new, mark.term_freq + 1};
        Entry& entry = entries_[index];
        entry = {id, (is_new ? 0 : entry.count) + 1};
    }

    // The frequencies are known for ids below n_marks.
    size_t n_marks() const { return marks_.size(); }
    uint32_t doc_freq(size_t id) const { return marks_[id].doc_freq; }
    uint32_t term_freq(size_t id) const { return marks_[id].term_freq; }

private:
    struct Mark {
        uint32_t document = 0;  // the last one with the term, numbered from 1
        uint32_t index = 0;     // of its entry in the chunk
        uint32_t doc_freq = 0, term_freq = 0;
    };

    std::vector<Mark> marks_;
    uint32_t document_ = 0;
};

// Counts the terms of one document at a time. Its table fits into the cache, regardless of the size
// of the vocabulary.
class DistinctTerms {
public:
    // Write each distinct term with its count, in the order of first appearance, and return their
    // number. There must be memory for all of them.
    size_t count(const std::vector<Id>& ids, Entry* entries) {
        int bits = MIN_BITS;
        while ((size_t{1} << bits) < 2 * ids.size()) ++bits;
        entry_of_slot_.assign(size_t{1} << bits, 0);
        const size_t mask = entry_of_slot_.size() - 1;
        size_t n = 0;
        for (const Id id : ids) {
            size_t slot = (id * hash_seeds.first) >> (64 - bits);
            while (entry_of_slot_[slot] != 0 && entries[entry_of_slot_[slot] - 1].id != id)
                slot = (slot + 1) & mask;
            if (entry_of_slot_[slot] == 0) {
                entries[n] = {id, 0};
                entry_of_slot_[slot] = uint32_t(++n);
            }
            ++entries[entry_of_slot_[slot] - 1].count;
        }
        return n;
    }

private:
    static constexpr int MIN_BITS = 6;

    std::vector<uint32_t>
        entry_of_slot_;  // the index of the entry plus 1, or 0 if the slot is free
};

// Counts the terms of a fixed vocabulary document by document.
class KnownTermsCounter : public ChunkWriter {
public:
    using ChunkWriter::ChunkWriter;

    void add_all(const std::vector<Id>& ids) {
        n_entries_ += distinct_.count(ids, entries_ + n_entries_);
    }

private:
    DistinctTerms distinct_;
};

}  // namespace engine

// Words as one or two integers, and the search for their ends in steps of eight bytes.

#pragma once

#include <stdexcept>

#include "shared.h"

namespace engine {

// A word in the format of the dictionary. A word of up to 16 bytes, like nearly all words, is
// stored in two integers. For a longer word, the integers hold a hash and the size, and the bytes
// are compared too. Words have no zero byte and no byte of UTF-8 is 0xFF, so the two kinds are
// never equal.
struct Word {
    uint64_t low, high;
    const char* bytes;  // of a long word only
    uint32_t size;

    static constexpr uint32_t SHORT = 16;

    bool is_long() const { return size > SHORT; }

    static Word of(const char* bytes, size_t size) {
        if (size > std::numeric_limits<uint32_t>::max())
            throw std::length_error("a word has 4 GB or more; split it");
        Word word{0, 0, bytes, uint32_t(size)};
        if (!word.is_long()) {
            char padded[SHORT] = {};
            std::memcpy(padded, bytes, size);
            std::memcpy(&word.low, padded, 8);
            std::memcpy(&word.high, padded + 8, 8);
            return word;
        }
        word.low = hash_bytes(bytes, size);
        word.high = (uint64_t{0xFF} << 56) | size;
        return word;
    }
};

inline uint64_t eight_bytes(const uint8_t* bytes) {
    uint64_t eight;
    std::memcpy(&eight, bytes, 8);
    return eight;
}

constexpr uint64_t ONES = 0x0101010101010101u, TOPS = 0x8080808080808080u;

// Return the top bit of every byte that ends a word, which is a zero in ASCII bytes or a space in
// any bytes. The result is exact up to the first such byte.
inline uint64_t zeros(uint64_t eight) { return (eight - ONES) & TOPS; }
inline uint64_t spaces(uint64_t eight) {
    const uint64_t others = eight ^ (ONES * ' ');
    return (others - ONES) & ~others & TOPS;
}

// The bytes before the end of a word, among eight bytes, padded with zeros. Their number is 8 if
// the word does not end there.
struct Run {
    uint64_t bytes;
    size_t size;

    Run(uint64_t eight, uint64_t ends) {
        if (ends == 0) {
            bytes = eight;
            size = 8;
            return;
        }
        const uint64_t before = (ends & (~ends + 1)) - 1;  // all bits below the first top bit
        size = ((before & ONES) * ONES >> 56) - 1;
        bytes = eight & (before >> 7);
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

}  // namespace engine

// Tables of word characters and visible characters, with their lower case.

#pragma once

#include "shared.h"

namespace engine {

// Return an ASCII word character, in lower case if `lowercase` is set, and 0 for all other
// characters. There is no table and no branch, so that compilers can vectorize it.
template <bool lowercase>
uint8_t fold_word_ascii(uint8_t c) {
    const uint8_t lower = c | 0x20;
    const bool is_letter = uint8_t(lower - 'a') < 26;
    const bool is_other = uint8_t(c - '0') < 10 || c == '_';
    const uint8_t letter = lowercase ? lower : c;
    return uint8_t((is_letter ? letter : 0) | (is_other ? c : 0));
}

// The same for visible characters, which are all except white space and U+0000.
template <bool lowercase>
uint8_t fold_visible_ascii(uint8_t c) {
    const bool is_white = c == 0 || uint8_t(c - 9) < 5 || uint8_t(c - 28) < 5;
    const bool is_upper = uint8_t(c - 'A') < 26;
    return uint8_t(is_white ? 0 : lowercase && is_upper ? c | 0x20 : c);
}

// Maps the characters of a kind to their lower case, as the running Python defines it. Entry c is
// the lower case of c, or 0 if c is not of this kind (U+0000 never is). ASCII is built in. Python
// supplies the other characters when they are first needed.
class FoldingTable {
public:
    explicit FoldingTable(uint8_t (*ascii)(uint8_t)) : folded_(0x110000, 0) {
        for (uint8_t c = 0; c < 128; ++c) folded_[c] = ascii(c);
    }

    void learn(uint32_t first, const uint32_t* folded, size_t n) {
        check(first + n <= folded_.size() &&
                  std::all_of(folded, folded + n, [&](uint32_t c) { return c < folded_.size(); }),
              "a character code is out of range; expected codes below 0x110000");
        std::copy(folded, folded + n, folded_.begin() + first);
    }

    uint32_t operator[](uint32_t c) const { return folded_[c]; }

private:
    std::vector<uint32_t> folded_;
};

// Characters that can be part of a word.
inline FoldingTable& word_characters() {
    static FoldingTable table(fold_word_ascii<true>);
    return table;
}

// Characters that are not white space.
inline FoldingTable& visible_characters() {
    static FoldingTable table(fold_visible_ascii<true>);
    return table;
}

}  // namespace engine

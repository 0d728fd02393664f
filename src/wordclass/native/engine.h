// Declarations that the files of the text engine share: tokens, dictionary and counts.
//
// Terms are words and their n-grams, or n-grams of characters. The engine counts every term of
// every document, counts the terms of a fixed vocabulary, or turns documents into the columns of a
// fixed vocabulary (words only). text/analyzer.py specifies terms, and every option is tested
// against it. No Python object is accessed while documents are read, so the GIL is released and
// threads share the work. The results do not depend on the number of threads. The code is portable
// C++17 for 64-bit little-endian systems, without intrinsics.
//
// The headers contain the loops that must be inlined, in the order of the data: documents.h,
// characters.h, tokenizer.h or character_ngrams.h, dictionary.h, term_extractor.h, term_counts.h,
// occurrence_rows.h, class_sums.h. counted_texts.cpp and fixed_vocabulary.cpp use them.

#pragma once

#include "shared.h"

namespace engine {

using Id = uint32_t;  // of a term in a dictionary
constexpr Id NO_ID = std::numeric_limits<Id>::max();
constexpr size_t MAX_TERMS = size_t{1} << 31;

constexpr size_t STEPS_PER_CHARACTER = 4;           // for Watch::add_steps
constexpr size_t UNITS_PER_POLL = size_t{1} << 18;  // characters or words between its calls

struct Options {
    bool mask_numbers = true;
    bool lowercase = true;
    size_t shortest = 1;  // the number of words or characters of a term
    size_t longest = 1;
    std::vector<std::string> stop_words;
    bool are_characters = false;
};

// Bindings of the files that define the classes.
void bind_documents(nb::module_ module);
void bind_counted_texts(nb::module_ module);
void bind_fixed_vocabulary(nb::module_ module);
void bind_class_sums(nb::module_ module);

}  // namespace engine

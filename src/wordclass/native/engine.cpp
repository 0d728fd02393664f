// Options and character tables of the text engine, and its Python module.

#include "engine.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "characters.h"

namespace engine {

namespace {

constexpr size_t MAX_NGRAM_WORDS = 3;
constexpr size_t MAX_NGRAM_CHARACTERS = 16;

Options make_options(bool mask_numbers, bool lowercase, size_t shortest, size_t longest,
                     const std::vector<std::string>& stop_words) {
    if (shortest < 1 || longest < shortest || longest > MAX_NGRAM_WORDS)
        throw nb::value_error("the sizes of n-grams are out of range; expected 1 to 3 words");
    return {mask_numbers, lowercase, shortest, longest, stop_words};
}

Options make_character_options(bool lowercase, size_t shortest, size_t longest) {
    if (shortest < 1 || longest < shortest || longest > MAX_NGRAM_CHARACTERS)
        throw nb::value_error("the sizes of n-grams are out of range; expected 1 to 16 characters");
    return {false, lowercase, shortest, longest, {}, true};
}

}  // namespace

void bind(nb::module_ module) {
    module.def("learn_characters", [](uint32_t first, Vector<uint32_t> folded) {
        word_characters().learn(first, folded.data(), folded.size());
    });
    module.def("learn_visible_characters", [](uint32_t first, Vector<uint32_t> folded) {
        visible_characters().learn(first, folded.data(), folded.size());
    });
    nb::class_<Options>(module, "Options");
    module.def("options", &make_options, nb::arg("mask_numbers"), nb::arg("lowercase"),
               nb::arg("shortest"), nb::arg("longest"), nb::arg("stop_words"));
    module.def("character_options", &make_character_options, nb::arg("lowercase"),
               nb::arg("shortest"), nb::arg("longest"));
    bind_documents(module);
    bind_counted_texts(module);
    bind_fixed_vocabulary(module);
    bind_class_sums(module);
}

}  // namespace engine

// Texts that are read in the memory of Python, and their division among threads.

#pragma once

#include "engine.h"

namespace engine {

constexpr size_t MAX_DOCUMENT_CHARACTERS = size_t{1} << 32;

// The characters of a text as Python stores them: 1, 2 or 4 bytes each.
struct Document {
    const void* data;
    size_t length;  // in characters
    int width;      // bytes per character
    bool is_ascii;
    bool is_prepared;  // Python has already masked its numbers and lowercased it
};

// Return true if only Python's lower() is correct: U+0130 changes its length, and the lower case of
// U+03A3 depends on the characters around it.
template <typename Char>
bool needs_python(const Char* data, size_t n) {
    return std::any_of(data, data + n, [](Char c) { return c == 0x130 || c == 0x3A3; });
}

// Texts in the memory of Python, which is kept alive. Together they must have fewer than 2^33
// characters, so that no term occurs 2^32 times. For n-grams of characters the limit is half of
// that, because a word of one character gets two spaces.
class Documents {
public:
    Documents(const Documents&) = delete;

    // The tuple keeps the texts alive even if the list changes while they are read.
    explicit Documents(nb::list texts) : Documents(nb::tuple(texts)) {}

    void check_total(bool are_characters) const {
        size_t total = are_characters ? documents_.size() : 0;
        for (const Document& document : documents_) total += document.length;
        if (are_characters && total >= MAX_DOCUMENT_CHARACTERS)
            throw nb::value_error(
                "there are 4 GB of text or more; pass them in blocks, to fit_blocks");
        if (total >= 2 * MAX_DOCUMENT_CHARACTERS)
            throw nb::value_error(
                "there are 8 GB of text or more; pass them in blocks, to fit_blocks");
    }

    size_t size() const { return documents_.size(); }
    const Document& operator[](size_t k) const { return documents_[k]; }

    // Return the bytes per character of the widest text, which decides how much of the folding
    // table is needed.
    int width() const {
        int widest = 1;
        for (const Document& document : documents_) widest = std::max(widest, document.width);
        return widest;
    }

    // Return the indices of the documents that only Python can lowercase.
    std::vector<size_t> special() const {
        nb::gil_scoped_release no_gil;
        Watch watch;
        std::vector<size_t> indices;
        for (size_t k = 0; k < documents_.size(); ++k) {
            const Document& document = documents_[k];
            watch.add_steps(document.length);
            const bool is_special =
                document.width == 2
                    ? needs_python(static_cast<const uint16_t*>(document.data), document.length)
                : document.width == 4
                    ? needs_python(static_cast<const uint32_t*>(document.data), document.length)
                    : false;
            if (is_special) indices.push_back(k);
        }
        return indices;
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
        if (length >= MAX_DOCUMENT_CHARACTERS)
            throw nb::value_error(("document " + std::to_string(k) +
                                   " has 4 GB or more; split it into smaller documents")
                                      .c_str());
        return {PyUnicode_DATA(text), length, int(PyUnicode_KIND(text)),
                PyUnicode_IS_ASCII(text) != 0, false};
    }

    nb::object owner_;
    nb::list replacements_;
    std::vector<Document> documents_;
};

// Divide documents into ranges of about equal length: one per thread, but at least one.
inline std::vector<std::pair<size_t, size_t>> split_by_length(const Documents& documents,
                                                              int64_t asked) {
    const size_t n_threads = limit_threads(asked, documents.size());
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

inline size_t count_characters(const Documents& documents, const std::pair<size_t, size_t>& part) {
    size_t total = 0;
    for (size_t k = part.first; k < part.second; ++k) total += documents[k].length;
    return total;
}

}  // namespace engine

// A fast reader of vectors in lines of text, `term v1 ... vq`.
//
// `PlainReader` in vectors/formats/_text.py specifies the format, and this file is tested against
// it. It reads the content of nearly every line. The remaining fields (in a bad line, a number
// whose correct rounding needs more than a double, "nan") are returned as positions, and Python
// decides. No Python object is accessed while lines are read, so the GIL is released. The code is
// portable C++17 without std::from_chars, which some compilers lack for floats, and strtof, which
// depends on the locale.

#include <nanobind/stl/optional.h>

#include <cfloat>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_set>

#include "shared.h"

namespace text_reader {
namespace {

// --- numbers -------------------------------------------------------------------------------------

constexpr int MAX_DIGITS = 18;  // that fit into 63 bits
constexpr int MAX_EXPONENT = 99999;

// The powers of ten that a double represents exactly.
constexpr double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int MAX_POWER = 22;

// Multiply by a power of ten of at most 2 * MAX_POWER, in one step or two.
double scaled(double value, int exponent) {
    const bool is_small = exponent < 0;
    const int size = is_small ? -exponent : exponent;
    const int first = std::min(size, MAX_POWER);
    value = is_small ? value / POWERS[first] : value * POWERS[first];
    if (size == first) return value;
    return is_small ? value / POWERS[size - first] : value * POWERS[size - first];
}

// Return true if all numbers within the error of this one round to the same float. The conversion
// of digits to a double and at most two steps of scaling are three roundings, with an error below 4
// units of the double's last digit. Two floats are 2^29 such units apart, and numbers round up or
// down depending on their side of the middle.
bool is_rounding_certain(double value) {
    constexpr uint64_t MIDDLE = uint64_t{1} << 28;
    constexpr uint64_t MARGIN = 8;
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const uint64_t below = bits & (2 * MIDDLE - 1);
    const bool is_near_middle = below - (MIDDLE - MARGIN) <= 2 * MARGIN;
    // floats below FLT_MIN have fewer bits, and there is none above FLT_MAX
    return !is_near_middle && value >= 2 * double(FLT_MIN) && value <= FLT_MAX / 2;
}

bool is_digit(char c) { return uint8_t(c - '0') < 10; }

// Count the significant digits. Leading zeros do not count.
ptrdiff_t count_significant_digits(const char* first, const char* last) {
    while (first < last && (*first == '0' || *first == '.')) ++first;
    return last - first - (std::find(first, last, '.') != last);
}

// Read digits into a number and return the position after them. An overflow is well defined, and
// callers detect it by the number of digits.
const char* read_digits(const char* at, const char* end, uint64_t& number) {
    for (; at < end && is_digit(*at); ++at) number = number * 10 + uint64_t(*at - '0');
    return at;
}

// Read e [+-] digits up to a space or the end of the line, and add them to the exponent.
bool read_exponent(const char*& at, const char* end, int& exponent) {
    if ((*at != 'e' && *at != 'E') || ++at == end) return false;
    const bool is_small = *at == '-';
    at += is_small || *at == '+';
    const char* first = at;
    uint64_t size = 0;
    at = read_digits(at, end, size);
    if (at == first || at - first > 5 || (at < end && *at != ' ')) return false;
    exponent += is_small ? -int(size) : int(size);
    return true;
}

// Read [+-] digits [. digits] [e [+-] digits] up to a space or the end of the line, round the
// number to the nearest float, and advance to its end. Return false if the field is anything else
// or the rounding is uncertain. Then Python reads it.
bool read_number(const char*& at, const char* end, float& number) {
    if (at == end) return false;
    const bool is_negative = *at == '-';
    at += is_negative || *at == '+';
    const char* first = at;
    uint64_t digits = 0;
    int exponent = 0;
    at = read_digits(at, end, digits);
    ptrdiff_t n_digits = at - first;
    if (at < end && *at == '.') {
        const char* fraction = ++at;
        at = read_digits(at, end, digits);
        if (at - fraction > MAX_EXPONENT) return false;
        exponent = -int(at - fraction);
        n_digits += at - fraction;
    }
    if (n_digits == 0) return false;
    if (n_digits > MAX_DIGITS && count_significant_digits(first, at) > MAX_DIGITS) return false;
    if (at < end && *at != ' ' && !read_exponent(at, end, exponent)) return false;
    // a table instead of a branch, because signs are unpredictable
    constexpr double SIGNS[] = {1.0, -1.0};
    if (digits == 0) {
        number = float(0.0 * SIGNS[is_negative]);
        return true;
    }
    if (exponent < -2 * MAX_POWER || exponent > 2 * MAX_POWER) return false;
    // via a signed type, which every processor converts in one step
    const double value = scaled(double(int64_t(digits)), exponent);
    number = float(value * SIGNS[is_negative]);
    return is_rounding_certain(value);
}

// --- terms ---------------------------------------------------------------------------------------

// Selects the first vector of every term, or of every requested term if there is a list of them.
class Selection {
public:
    Selection() = default;
    Selection(Selection&&) = default;  // copies would point into the original
    Selection& operator=(Selection&&) = default;

    explicit Selection(nb::list requested) : takes_all_(false) {
        for (nb::handle term : requested) {
            if (!PyBytes_Check(term.ptr())) throw nb::type_error("a term is not of the type bytes");
            const auto bytes = nb::borrow<nb::bytes>(term);
            add({bytes.c_str(), bytes.size()});
        }
    }

    bool takes(std::string_view term) {
        return takes_all_ ? known_.count(term) == 0 && (add(term), true) : known_.erase(term) == 1;
    }

private:
    void add(std::string_view term) {
        owned_.emplace_back(term);
        known_.insert(owned_.back());
    }

    struct Hash {
        size_t operator()(std::string_view term) const {
            return hash_bytes(term.data(), term.size());
        }
    };

    bool takes_all_ = true;
    std::deque<std::string> owned_;                     // does not move strings when it grows
    std::unordered_set<std::string_view, Hash> known_;  // selected or remaining requested terms
};

// --- lines ---------------------------------------------------------------------------------------

size_t count_spaces(const char* at, const char* end) {
    size_t total = 0;
    while (at < end) {
        // blocks that a byte can count, which compilers vectorize
        const char* stop = at + std::min<ptrdiff_t>(end - at, 255);
        uint8_t some = 0;
        for (; at < stop; ++at) some = uint8_t(some + (*at == ' '));
        total += some;
    }
    return total;
}

// Return the space before the last n fields of a line with n_spaces >= n spaces.
const char* end_of_term(const char* line, const char* end, size_t n, size_t n_spaces) {
    if (n_spaces == n) return static_cast<const char*>(std::memchr(line, ' ', size_t(end - line)));
    while (n > 0) n -= *--end == ' ';
    return end;
}

// A field for Python to read: the index of its value, its line, and the position of its text.
struct Unread {
    size_t index, line, start, end;
};

// The content of some lines.
struct Block {
    std::string terms;           // of the selected vectors, each followed by a newline
    std::vector<int64_t> lines;  // their line numbers, counted from 0
    std::vector<float> values;
    std::vector<Unread> unread;
    size_t n_lines = 0;  // good lines before the first bad one
    bool has_bad_line = false;
};

class TextReader {
public:
    TextReader(size_t n_dims, std::optional<nb::list> requested) : n_dims_(n_dims) {
        check(n_dims > 0, "the number of dimensions is 0");
        if (requested) selection_ = Selection(*requested);
    }

    // Return (terms, lines, values, fields for Python, number of good lines, whether one is bad).
    nb::tuple read(nb::bytes bytes) {
        const ExclusiveUse turn(is_in_use_);
        Block block;
        {
            nb::gil_scoped_release no_gil;
            block = read_lines(bytes.c_str(), bytes.c_str() + bytes.size());
        }
        nb::list unread;
        for (const Unread& field : block.unread)
            unread.append(nb::make_tuple(field.index, field.line, field.start, field.end));
        return nb::make_tuple(nb::bytes(block.terms.data(), block.terms.size()),
                              to_numpy(std::move(block.lines)), to_numpy(std::move(block.values)),
                              unread, block.n_lines, block.has_bad_line);
    }

private:
    Block read_lines(const char* start, const char* end) {
        Watch watch;
        Block block;
        for (const char* line = start; line < end; ++block.n_lines) {
            const void* newline = std::memchr(line, '\n', size_t(end - line));
            const char* next = newline ? static_cast<const char*>(newline) : end;
            const char* last = next;
            while (last > line && (last[-1] == ' ' || last[-1] == '\r')) --last;
            if (!read_line(block, start, line, last)) {
                block.has_bad_line = true;
                break;
            }
            watch.add_steps(4 * size_t(next - line) + 4);
            line = newline ? next + 1 : end;
        }
        return block;
    }

    // Store the vector of a line if it is selected. Return false if the line is bad.
    bool read_line(Block& block, const char* start, const char* line, const char* last) {
        const size_t n_spaces = count_spaces(line, last);
        if (n_spaces < n_dims_) return false;
        const char* space = end_of_term(line, last, n_dims_, n_spaces);
        const std::string_view term(line, size_t(space - line));
        if (!is_utf8(term)) return false;
        if (!selection_.takes(term)) return true;
        block.terms.append(term).push_back('\n');
        block.lines.push_back(int64_t(block.n_lines));
        const size_t first = block.values.size();
        block.values.resize(first + n_dims_);
        const char* field = space + 1;
        for (size_t index = first; index < first + n_dims_; ++index) {
            const char* stop = field;
            if (!read_number(stop, last, block.values[index])) {
                stop = std::find(field, last, ' ');
                block.unread.push_back(
                    {index, block.n_lines, size_t(field - start), size_t(stop - start)});
            }
            field = stop + 1;
        }
        return true;
    }

    size_t n_dims_;
    Selection selection_;
    std::atomic<bool> is_in_use_{false};
};

}  // namespace

void bind(nb::module_ module) {
    nb::class_<TextReader>(module, "TextReader")
        .def(nb::init<size_t, std::optional<nb::list>>(), nb::arg("n_dims"),
             nb::arg("wanted").none())
        .def("read", &TextReader::read);
}

}  // namespace text_reader

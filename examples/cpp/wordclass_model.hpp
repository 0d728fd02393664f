// Read a portable model of wordclass and classify texts with it, in C++17 without dependencies.
//
//   wordclass::Model model = wordclass::Model::read("model.bin");
//   for (const wordclass::Prediction& prediction : model.predict("a text"))
//     std::cout << prediction.label << ' ' << prediction.score << '\n';
//
// Texts and labels are UTF-8. docs/reference/portable-models.md describes the file.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace wordclass {

struct Prediction {
  std::string label;
  double score;
};

namespace detail {

constexpr char32_t SIGMA = 0x3a3;
constexpr char32_t FINAL_SIGMA = 0x3c2;
constexpr std::u32string_view NUMBER_MASK = U"numbermask";

[[noreturn]] inline void fail(const std::string& reason) {
  throw std::runtime_error("wordclass model: " + reason);
}

// --- UTF-8 --------------------------------------------------------------------------------------

// Decode UTF-8. Lone surrogates are accepted; invalid bytes become U+FFFD.
inline std::u32string decode(std::string_view text) {
  std::u32string codes;
  codes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    char32_t code = size == 1 ? first : first & (0x7f >> size);
    bool is_valid = (size == 1 || first >= 0xc2) && first < 0xf5 && at + size <= text.size();
    for (std::size_t k = 1; is_valid && k < size; ++k) {
      const auto byte = static_cast<unsigned char>(text[at + k]);
      is_valid = (byte & 0xc0) == 0x80;
      code = (code << 6) | (byte & 0x3f);
    }
    codes.push_back(is_valid ? code : 0xfffd);
    at += is_valid ? size : 1;
  }
  return codes;
}

inline void append_utf8(std::string& text, char32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | (code >> 6));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | (code >> 12));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | (code >> 18));
    text += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

inline std::string encode(std::u32string_view codes) {
  std::string text;
  for (const char32_t code : codes) append_utf8(text, code);
  return text;
}

// --- the file -----------------------------------------------------------------------------------

// Read little-endian numbers from a section.
class Section {
 public:
  Section() = default;
  explicit Section(std::string_view bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size(); }

  template <typename Number>
  Number number(std::size_t offset) const {
    if (offset + sizeof(Number) > bytes_.size()) fail("damaged or cut short");
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < sizeof(Number); ++k)
      bits |= std::uint64_t{static_cast<unsigned char>(bytes_[offset + k])} << (8 * k);
    Number value;
    if constexpr (sizeof(Number) == 8) {
      std::memcpy(&value, &bits, 8);
    } else {
      const auto half = static_cast<std::uint32_t>(bits);
      std::memcpy(&value, &half, sizeof(Number));
    }
    return value;
  }

  template <typename Number>
  std::vector<Number> numbers() const {
    std::vector<Number> values(bytes_.size() / sizeof(Number));
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = number<Number>(k * sizeof(Number));
    return values;
  }

  std::vector<std::string> strings() const {
    const auto n = number<std::uint32_t>(0);
    const std::size_t content = 4 + 4 * std::size_t{n};
    std::vector<std::string> strings;
    std::size_t start = 0;
    for (std::uint32_t k = 0; k < n; ++k) {
      const std::size_t end = number<std::uint32_t>(4 + 4 * std::size_t{k});
      if (end < start || content + end > bytes_.size()) fail("damaged or cut short");
      strings.emplace_back(bytes_.substr(content + start, end - start));
      start = end;
    }
    return strings;
  }

 private:
  std::string_view bytes_;
};

inline float decode_half(std::uint16_t half) {
  const float sign = half & 0x8000 ? -1.0F : 1.0F;
  const int exponent = (half >> 10) & 0x1f;
  const int fraction = half & 0x3ff;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31) return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * INFINITY;
  return sign * std::ldexp(1.0F + static_cast<float>(fraction) / 1024.0F, exponent - 15);
}

// --- characters ---------------------------------------------------------------------------------

// A set of code points, stored as sorted ranges: first and last in turn.
class CharacterClass {
 public:
  CharacterClass() = default;
  explicit CharacterClass(std::vector<std::uint32_t> bounds) : bounds_(std::move(bounds)) {}

  bool contains(char32_t code) const {
    const auto next = std::upper_bound(bounds_.begin(), bounds_.end(), code);
    const auto index = static_cast<std::size_t>(next - bounds_.begin());
    return index % 2 == 1 || (index > 0 && bounds_[index - 1] == code);
  }

 private:
  std::vector<std::uint32_t> bounds_;
};

// The characters of the Python that exported the model.
struct Characters {
  CharacterClass word;
  CharacterClass space;
  CharacterClass cased;
  CharacterClass ignorable;
  std::unordered_map<char32_t, std::u32string> lower_of;

  // U+0000 and surrogates count as white space.
  bool is_visible(char32_t code) const {
    return code != 0 && !(code >= 0xd800 && code <= 0xdfff) && !space.contains(code);
  }

  // The lower case of a text, in which a capital sigma depends on the letters around it.
  std::u32string lower(const std::u32string& text) const {
    std::u32string lowered;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == SIGMA && is_final(text, at)) {
        lowered += FINAL_SIGMA;
        continue;
      }
      const auto found = lower_of.find(text[at]);
      if (found == lower_of.end()) {
        lowered += text[at];
      } else {
        lowered += found->second;
      }
    }
    return lowered;
  }

 private:
  bool is_final(const std::u32string& text, std::size_t at) const {
    std::size_t before = at;
    while (before > 0 && ignorable.contains(text[before - 1])) --before;
    if (before == 0 || !cased.contains(text[before - 1])) return false;
    std::size_t after = at + 1;
    while (after < text.size() && ignorable.contains(text[after])) ++after;
    return after == text.size() || !cased.contains(text[after]);
  }
};

inline bool is_digit(char32_t code) { return code >= U'0' && code <= U'9'; }

// Replace numbers by one word. A number starts after a character that is not part of a word, and
// ends at the last position where a word begins or ends.
inline std::u32string mask_numbers(const std::u32string& text, const Characters& characters) {
  const auto is_word = [&](std::size_t at) {
    return at < text.size() && characters.word.contains(text[at]);
  };
  std::u32string masked;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = 0;
    if (is_digit(text[at]) && (at == 0 || !is_word(at - 1))) {
      std::size_t last = at + 1;
      while (last < text.size() &&
             (is_digit(text[last]) || text[last] == U'.' || text[last] == U',' || text[last] == U'-'))
        ++last;
      for (end = last; end > at && is_word(end - 1) == is_word(end); --end) {
      }
    }
    if (end > at) {
      masked += NUMBER_MASK;
      at = end;
    } else {
      masked += text[at++];
    }
  }
  return masked;
}

// --- terms --------------------------------------------------------------------------------------

// The weights of words, or of n-grams of characters.
struct Part {
  bool is_words = true;
  std::uint32_t shortest = 1;
  std::uint32_t longest = 1;
  bool masks_numbers = false;
  double n_docs = 0;
  std::set<std::string> stop_words;
  std::unordered_map<std::string, std::size_t> row_of;
  std::vector<double> idf;
  std::vector<float> weights;  // n_terms x n_classes

  // The number of occurrences of each known term, by row.
  std::map<std::size_t, double> count(const std::u32string& text, const Characters& characters) const {
    std::map<std::size_t, double> counts;
    const auto add = [&](const std::string& term) {
      const auto row = row_of.find(term);
      if (row != row_of.end()) counts[row->second] += 1;
    };
    if (is_words) {
      count_words(text, characters, add);
    } else {
      count_characters(text, characters, add);
    }
    return counts;
  }

 private:
  template <typename Add>
  void count_words(const std::u32string& text, const Characters& characters, const Add& add) const {
    const std::u32string lowered =
        characters.lower(masks_numbers ? mask_numbers(text, characters) : text);
    std::vector<std::string> tokens;
    for (std::size_t at = 0; at < lowered.size();) {
      std::size_t end = at;
      while (end < lowered.size() && characters.word.contains(lowered[end])) ++end;
      if (end - at >= 2) {
        std::string token = encode(std::u32string_view(lowered).substr(at, end - at));
        if (stop_words.count(token) == 0) tokens.push_back(std::move(token));
      }
      at = std::max(end, at + 1);
    }
    for (std::size_t size = shortest; size <= longest; ++size) {
      for (std::size_t first = 0; first + size <= tokens.size(); ++first) {
        std::string term = tokens[first];
        for (std::size_t k = 1; k < size; ++k) term += ' ' + tokens[first + k];
        add(term);
      }
    }
  }

  template <typename Add>
  void count_characters(const std::u32string& text, const Characters& characters,
                        const Add& add) const {
    const std::u32string lowered = characters.lower(text);
    for (std::size_t at = 0; at < lowered.size();) {
      std::size_t end = at;
      while (end < lowered.size() && characters.is_visible(lowered[end])) ++end;
      if (end > at) {
        const std::u32string padded = U' ' + lowered.substr(at, end - at) + U' ';
        const std::size_t largest =
            std::max<std::size_t>(shortest, std::min<std::size_t>(longest, padded.size()));
        for (std::size_t n = shortest; n <= largest; ++n) {
          const std::size_t n_starts = padded.size() > n ? padded.size() - n : 0;
          for (std::size_t start = 0; start <= n_starts; ++start)
            add(encode(std::u32string_view(padded).substr(start, n)));
        }
      }
      at = std::max(end, at + 1);
    }
  }
};

}  // namespace detail

class Model {
 public:
  // Read a model file. Throws std::runtime_error if it is missing, damaged or too new.
  static Model read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) detail::fail(path + " cannot be read");
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    return Model(content);
  }

  // Read a model from the content of a file.
  explicit Model(std::string_view content) {
    const auto sections = read_sections(content);
    const auto section = [&](const std::string& tag, std::uint32_t part) {
      const auto found = sections.find({tag, part});
      if (found == sections.end()) detail::fail("the section " + tag + " is missing");
      return found->second;
    };
    const auto has = [&](const std::string& tag) { return sections.count({tag, 0}) == 1; };
    const auto table = [&](const std::string& tag) {
      return detail::CharacterClass(section(tag, 0).numbers<std::uint32_t>());
    };
    const auto meta = section("META", 0).numbers<std::uint32_t>();
    if (meta.size() < 4) detail::fail("damaged or cut short");
    labels_ = section("CLAS", 0).strings();
    intercept_ = section("BIAS", 0).numbers<double>();
    if (has("THRE")) thresholds_ = section("THRE", 0).numbers<double>();
    if (has("FREQ")) is_frequent_ = section("FREQ", 0).numbers<std::uint8_t>();
    characters_.word = table("WORD");
    characters_.space = table("SPAC");
    characters_.cased = table("CASE");
    characters_.ignorable = table("IGNO");
    const auto lower = section("LOWR", 0).numbers<std::uint32_t>();
    for (std::size_t k = 0; k + 2 < lower.size(); k += 3) {
      std::u32string& letters = characters_.lower_of[lower[k]];
      letters += static_cast<char32_t>(lower[k + 1]);
      if (lower[k + 2] != 0) letters += static_cast<char32_t>(lower[k + 2]);
    }
    const std::size_t n_classes = meta[0];
    for (std::uint32_t number = 1; number <= meta[2]; ++number) {
      const auto options = section("PART", number).numbers<std::uint32_t>();
      if (options.size() < 7) detail::fail("damaged or cut short");
      detail::Part part;
      part.is_words = options[0] == 0;
      part.shortest = options[1];
      part.longest = options[2];
      part.masks_numbers = options[3] == 1;
      part.n_docs = options[4];
      for (std::string& word : section("STOP", number).strings())
        part.stop_words.insert(std::move(word));
      const auto terms = section("TERM", number).strings();
      for (std::size_t row = 0; row < terms.size(); ++row) part.row_of[terms[row]] = row;
      for (const std::uint32_t n : section("DOCF", number).numbers<std::uint32_t>())
        part.idf.push_back(std::log((1 + part.n_docs) / (1 + double{static_cast<double>(n)})) + 1);
      if (options[6] == 0) {
        part.weights = section("WGHT", number).numbers<float>();
      } else {
        for (const std::uint16_t half : section("WGHT", number).numbers<std::uint16_t>())
          part.weights.push_back(detail::decode_half(half));
      }
      if (part.idf.size() != terms.size() || part.weights.size() != terms.size() * n_classes)
        detail::fail("damaged or cut short");
      parts_.push_back(std::move(part));
    }
    if (labels_.size() != n_classes || intercept_.size() != n_classes)
      detail::fail("damaged or cut short");
  }

  const std::vector<std::string>& labels() const { return labels_; }

  // The score of each class.
  std::vector<double> scores(std::string_view text) const {
    const std::u32string codes = detail::decode(text);
    std::vector<double> scores = intercept_;
    for (const detail::Part& part : parts_) {
      auto values = part.count(codes, characters_);
      double sum_of_squares = 0;
      for (auto& [row, value] : values) {
        value = (1 + std::log(value)) * part.idf[row];
        sum_of_squares += value * value;
      }
      const double length = sum_of_squares > 0 ? std::sqrt(sum_of_squares) : 1;
      for (const auto& [row, value] : values) {
        const float* weights = part.weights.data() + row * scores.size();
        for (std::size_t column = 0; column < scores.size(); ++column)
          scores[column] += value / length * static_cast<double>(weights[column]);
      }
    }
    return scores;
  }

  // The predicted labels, best first: one label, or any number in a multilabel task.
  std::vector<Prediction> predict(std::string_view text) const {
    const std::vector<double> scores = this->scores(text);
    std::vector<Prediction> predictions;
    if (thresholds_.empty()) {
      const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      const auto column = static_cast<std::size_t>(best);
      return {{labels_[column], scores[column]}};
    }
    const bool has_no_term = scores == intercept_;
    for (std::size_t column = 0; column < scores.size(); ++column) {
      const bool is_possible = !has_no_term || is_frequent_.empty() || is_frequent_[column] != 0;
      if (scores[column] > thresholds_[column] && is_possible)
        predictions.push_back({labels_[column], scores[column]});
    }
    std::stable_sort(predictions.begin(), predictions.end(),
                     [](const Prediction& a, const Prediction& b) { return a.score > b.score; });
    return predictions;
  }

 private:
  using Sections = std::map<std::pair<std::string, std::uint32_t>, detail::Section>;

  static Sections read_sections(std::string_view content) {
    constexpr std::string_view magic("WCMODEL\0", 8);
    constexpr std::uint32_t version = 1;
    if (content.substr(0, 8) != magic) detail::fail("not a portable model of wordclass");
    const detail::Section file(content);
    if (file.number<std::uint32_t>(8) > version) detail::fail("the version of the format is too new");
    Sections sections;
    std::size_t offset = 16;
    for (std::uint32_t k = file.number<std::uint32_t>(12); k > 0; --k) {
      const auto part = file.number<std::uint32_t>(offset + 4);
      const auto size = file.number<std::uint64_t>(offset + 8);
      const std::string tag(content.substr(offset, 4));
      offset += 16;
      if (size > content.size() - offset) detail::fail("damaged or cut short");
      sections[{tag, part}] = detail::Section(content.substr(offset, size));
      offset += (size + 7) / 8 * 8;
    }
    return sections;
  }

  std::vector<std::string> labels_;
  std::vector<double> intercept_;
  std::vector<double> thresholds_;
  std::vector<std::uint8_t> is_frequent_;
  detail::Characters characters_;
  std::vector<detail::Part> parts_;
};

}  // namespace wordclass

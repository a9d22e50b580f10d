#include "formats/likeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/utf8.h"

namespace gp::formats {
namespace {

// The share of bytes that belong to no character. A damaged text has fewer; tokens and text in
// another encoding have more.
constexpr double kForeignShareMax = 0.1;
// A single damaged byte is a large share of a short text.
constexpr size_t kForeignMin = 8;
// A guess needs at least this many words.
constexpr size_t kWordsMin = 64;
// The upper half of a token id is at most this.
constexpr uint16_t kUpperHalfMax = 63;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view WithoutSpace(std::string_view text) {
  const auto begin = std::find_if_not(text.begin(), text.end(), IsSpace);
  return text.substr(static_cast<size_t>(begin - text.begin()));
}

bool IsPrintable(char c) { return (c >= 0x20 && c < 0x7f) || IsSpace(c); }

double Share(size_t part, size_t all) {
  return static_cast<double>(part) / static_cast<double>(std::max<size_t>(all, 1));
}

// Ignores a character that the end of `text` cuts.
double ForeignShare(std::string_view text) {
  constexpr size_t kCutMax = 3;
  const size_t all = text.size();
  size_t foreign = 0;
  while (!text.empty()) {
    if (TakeCodePoint(text)) continue;
    if (all >= kLikenessBytes && text.size() <= kCutMax) break;
    ++foreign;
    text.remove_prefix(1);
  }
  return Share(foreign, all);
}

// The values at offset, offset + stride, … that `is` accepts, as a share of all of them.
template <typename Values, typename Predicate>
double ShareAt(const Values& values, size_t offset, size_t stride, Predicate is) {
  size_t count = 0, all = 0;
  for (size_t at = offset; at < values.size(); at += stride, ++all) count += is(values[at]) ? 1 : 0;
  return Share(count, all);
}

constexpr auto kIsZero = [](auto value) { return value == 0; };

// The encoding's name when the bytes are mostly ASCII in UTF-16 or UTF-32.
std::optional<std::string_view> WideEncoding(std::string_view bytes) {
  struct Encoding {
    std::string_view name;
    size_t stride, character;
  };
  constexpr std::array<Encoding, 4> kEncodings = {
      {{"UTF-32LE", 4, 0}, {"UTF-32BE", 4, 3}, {"UTF-16LE", 2, 0}, {"UTF-16BE", 2, 1}}};
  constexpr double kMost = 0.7;
  if (bytes.size() < 4) return std::nullopt;
  for (const auto& [name, stride, character] : kEncodings) {
    bool fits = ShareAt(bytes, character, stride, IsPrintable) >= kMost;
    for (size_t offset = 0; offset < stride && fits; ++offset) {
      fits = offset == character || ShareAt(bytes, offset, stride, kIsZero) >= kMost;
    }
    if (fits) return name;
  }
  return std::nullopt;
}

// What stands after `open` and space, if it begins with one of `next`.
bool Opens(std::string_view text, char open, std::string_view next) {
  if (!text.starts_with(open)) return false;
  const std::string_view rest = WithoutSpace(text.substr(1));
  return !rest.empty() && next.find(rest[0]) != std::string_view::npos;
}

// A '{' and a name, or a '[' and a value that is no number: those stand in prose as "[1]".
std::optional<Likeness> LikeJson(std::string_view begin) {
  const std::string_view text = WithoutSpace(begin);
  if (Opens(text, '[', "{[\"")) {
    return Likeness{"a list in JSON", "write a line for each of its values: jq -c '.[]'"};
  }
  if (!Opens(text, '{', "\"")) return std::nullopt;
  std::string_view line = text.substr(0, text.find('\n'));
  while (!line.empty() && IsSpace(line.back())) line.remove_suffix(1);
  const bool cut = line.size() == text.size() && begin.size() >= kLikenessBytes;
  if (line.ends_with('}') || cut) {
    return Likeness{"lines of JSON", "name it in data.stream, which reads a field of each line",
                    true};
  }
  return Likeness{"a JSON document", "take the text out of it with jq -r"};
}

// Words of two bytes, the lower one first.
std::vector<uint16_t> WordsOf(std::string_view bytes) {
  std::vector<uint16_t> words(bytes.size() / 2);
  std::memcpy(words.data(), bytes.data(), words.size() * 2);
  return words;
}

// The largest of the words at offset, offset + stride, …
uint16_t LargestAt(const std::vector<uint16_t>& words, size_t offset, size_t stride) {
  uint16_t largest = 0;
  for (size_t at = offset; at < words.size(); at += stride) largest = std::max(largest, words[at]);
  return largest;
}

// In a token of four bytes the upper half is small and often 0, and the lower half is not. In one
// of eight bytes the upper three quarters are small.
std::optional<int> WiderTokenBytes(const std::vector<uint16_t>& words) {
  if (LargestAt(words, 1, 4) <= kUpperHalfMax && LargestAt(words, 2, 4) == 0 &&
      LargestAt(words, 3, 4) == 0 && LargestAt(words, 0, 4) > 0) {
    return 8;
  }
  const int upper = LargestAt(words, 1, 2), lower = LargestAt(words, 0, 2);
  const bool wide = upper <= kUpperHalfMax && lower > 4 * std::max(upper, 1) &&
                    ShareAt(words, 0, 2, kIsZero) < 0.5 && ShareAt(words, 1, 2, kIsZero) > 0.2;
  return wide ? std::optional(4) : std::nullopt;
}

int64_t Swapped(uint16_t word) { return (word & 0xff) << 8 | word >> 8; }

// The entropy of the bytes at offset, offset + 2, …
double BitsOfByte(std::string_view bytes, size_t offset) {
  std::array<size_t, 256> counts{};
  size_t all = 0;
  for (size_t at = offset; at < bytes.size(); at += 2, ++all) {
    ++counts[static_cast<unsigned char>(bytes[at])];
  }
  double bits = 0;
  for (const size_t count : counts) {
    if (count > 0) bits -= Share(count, all) * std::log2(Share(count, all));
  }
  return bits;
}

}  // namespace

std::optional<Likeness> UnlikeText(std::string_view begin) {
  if (const auto encoding = WideEncoding(begin)) {
    return Likeness{fmt::format("text in {}", *encoding),
                    fmt::format("convert it: iconv -f {} -t UTF-8", *encoding)};
  }
  if (begin.find('\0') != std::string_view::npos) {
    return Likeness{"binary data (bytes of value 0 stand in it)", "tokens belong in data.train"};
  }
  if (const double share = ForeignShare(begin);
      share > kForeignShareMax && share * static_cast<double>(begin.size()) >= kForeignMin) {
    return Likeness{
        fmt::format("bytes that are not UTF-8 ({:.0f}% of the first are in no character)",
                    100 * share),
        "convert text with iconv -f ENCODING -t UTF-8; tokens belong in data.train"};
  }
  return LikeJson(begin);
}

std::optional<TokenForm> WiderTokens(std::string_view begin) {
  if (begin.size() < 2 * kWordsMin) return std::nullopt;
  const std::string_view whole = begin.substr(0, begin.size() / 8 * 8);
  if (const auto bytes = WiderTokenBytes(WordsOf(whole))) return TokenForm{*bytes, false};
  // Big-endian tokens, read from the back, are little-endian ones.
  const std::string reversed(whole.rbegin(), whole.rend());
  const auto bytes = WiderTokenBytes(WordsOf(reversed));
  return bytes ? std::optional(TokenForm{*bytes, true}) : std::nullopt;
}

bool LooksByteSwapped(std::string_view begin, int64_t vocabulary) {
  // A quarter of GPT-2's tokens exceed its vocabulary when their bytes are swapped.
  constexpr double kBeyondMin = 0.1, kSwappedPart = 0.05;
  // GPT-2's tokens of English differ by about 2.4 bits, in few words by 1.6.
  constexpr double kBitsMin = 1.5;
  const std::vector<uint16_t> words = WordsOf(begin);
  if (words.size() < kWordsMin) return false;
  const double beyond = ShareAt(words, 0, 1, [&](uint16_t word) { return word >= vocabulary; });
  const double swapped =
      ShareAt(words, 0, 1, [&](uint16_t word) { return Swapped(word) >= vocabulary; });
  if (swapped > kSwappedPart * beyond) return false;
  return beyond >= kBeyondMin || BitsOfByte(begin, 1) > BitsOfByte(begin, 0) + kBitsMin;
}

bool LooksLikeText(std::string_view begin) {
  constexpr double kMost = 0.95;
  const auto is_character = [](char c) {
    return IsPrintable(c) || static_cast<unsigned char>(c) >= 0x80;
  };
  return std::any_of(begin.begin(), begin.end(), IsSpace) &&
         ShareAt(begin, 0, 1, is_character) >= kMost && ForeignShare(begin) == 0;
}

}  // namespace gp::formats

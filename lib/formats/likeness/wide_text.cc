#include "formats/likeness/wide_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>

namespace gp::formats {
namespace {

// Fewer units are not conclusive.
constexpr size_t kUnitsMin = 8;
constexpr size_t kDistinctUnitsMin = 5;

struct WideForm {
  std::string_view name;
  size_t unit_bytes;
  bool big_endian;
};

constexpr std::array<WideForm, 4> kWideForms = {
    {{"UTF-32LE", 4, false}, {"UTF-32BE", 4, true}, {"UTF-16LE", 2, false}, {"UTF-16BE", 2, true}}};

struct UnitRange {
  uint32_t first, last;
};

// Characters that occur in texts.
constexpr UnitRange kWritten[] = {{'\t', '\n'},     {'\r', '\r'},     {0x20, 0x7e},
                                  {0xa0, 0xff},     {0x370, 0x6ff},   {0x900, 0xe7f},
                                  {0x10a0, 0x10ff}, {0x2010, 0x203a}, {0x3000, 0x30ff},
                                  {0x4e00, 0x9fff}, {0xac00, 0xd7a3}, {0xff00, 0xffef}};

// Latin letters above U+00FF, and those of Vietnamese.
bool IsRareLatin(uint32_t unit) {
  return (0x100 <= unit && unit < 0x250) || (0x1e00 <= unit && unit < 0x1f00);
}

bool IsAsciiLetter(uint32_t unit) { return unit < 0x80 && std::isalpha(static_cast<int>(unit)); }

bool IsWritten(uint32_t unit) {
  return IsRareLatin(unit) ||
         std::any_of(std::begin(kWritten), std::end(kWritten), [unit](const UnitRange& range) {
           return range.first <= unit && unit <= range.last;
         });
}

// Characters between words or sentences.
bool IsBlank(uint32_t unit) {
  return unit == ' ' || unit == '\n' || (0x3000 <= unit && unit <= 0x3002);
}

// Texts have hardly any control characters, but the most frequent token ids have their numbers.
bool IsControlUnit(uint32_t unit) {
  return !IsWritten(unit) && (unit < 0x20 || (0x7f <= unit && unit < 0xa0));
}

bool IsHighSurrogate(uint32_t unit) { return 0xd800 <= unit && unit < 0xdc00; }
bool IsLowSurrogate(uint32_t unit) { return 0xdc00 <= unit && unit < 0xe000; }

uint32_t UnitAt(std::string_view bytes, size_t at, const WideForm& form) {
  uint32_t unit = 0;
  for (size_t i = 0; i < form.unit_bytes; ++i) {
    const size_t from = form.big_endian ? i : form.unit_bytes - 1 - i;
    unit = unit << 8 | static_cast<unsigned char>(bytes[at + from]);
  }
  return unit;
}

bool IsTextIn(const WideForm& form, std::string_view bytes) {
  size_t all = 0, written = 0, blank = 0, control = 0, letters = 0, rare_letters = 0;
  uint32_t last = 0;
  std::set<uint32_t> distinct;
  for (size_t at = 0; at + form.unit_bytes <= bytes.size(); at += form.unit_bytes, ++all) {
    const uint32_t unit = UnitAt(bytes, at, form);
    written += IsWritten(unit) ? 1 : 0;
    // An emoji is two units of UTF-16.
    written += IsLowSurrogate(unit) && IsHighSurrogate(last) ? 2 : 0;
    last = unit;
    blank += IsBlank(unit) ? 1 : 0;
    control += IsControlUnit(unit) ? 1 : 0;
    letters += IsAsciiLetter(unit) ? 1 : 0;
    rare_letters += IsRareLatin(unit) ? 1 : 0;
    if (distinct.size() < kDistinctUnitsMin) distinct.insert(unit);
  }
  // In no language are rare Latin letters as frequent as the others. But the merges of a small
  // tokenizer have ids with the numbers of these letters, and are more frequent than its bytes.
  if (2 * rare_letters > letters) return false;
  return all >= kUnitsMin && distinct.size() >= kDistinctUnitsMin && 100 * written >= 85 * all &&
         100 * blank >= 2 * all && 100 * control <= all;
}

}  // namespace

std::optional<std::string_view> WideEncoding(std::string_view begin) {
  const auto form = std::find_if(kWideForms.begin(), kWideForms.end(),
                                 [&](const WideForm& each) { return IsTextIn(each, begin); });
  return form == kWideForms.end() ? std::nullopt : std::optional(form->name);
}

std::optional<std::string_view> WideEncodingOfAscii(std::string_view begin) {
  constexpr size_t kBytes = 4;
  if (begin.size() < kBytes) return std::nullopt;
  const auto is_ascii = [&](const WideForm& form) {
    for (size_t at = 0; at < kBytes; at += form.unit_bytes) {
      const uint32_t unit = UnitAt(begin, at, form);
      if (unit == 0 || unit > 0x7f) return false;
    }
    return true;
  };
  const auto form = std::find_if(kWideForms.begin(), kWideForms.end(), is_ascii);
  return form == kWideForms.end() ? std::nullopt : std::optional(form->name);
}

}  // namespace gp::formats

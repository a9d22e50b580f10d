#include "base/text/utf8.h"

#include <algorithm>

namespace gp {
namespace {

constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // indexed by length in bytes

size_t LengthOf(unsigned char lead) {
  if (lead < 0x80) return 1;
  if ((lead & 0xe0) == 0xc0) return 2;
  if ((lead & 0xf0) == 0xe0) return 3;
  if ((lead & 0xf8) == 0xf0) return 4;
  return 0;
}

// `length` is the length of the code point that the first byte of `text` announces (0: none), and
// `bytes` counts the bytes of `text` that can begin such a code point.
struct Beginning {
  size_t length = 0;
  size_t bytes = 0;
};

Beginning BeginningOf(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, 1};
  if (lead < 0xc2 || lead > 0xf4) return {};
  // E0, ED, F0 and F4 restrict the second byte: no overlong form, no surrogate, nothing above
  // U+10FFFF.
  const unsigned char least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  Beginning begun{LengthOf(lead), 1};
  while (begun.bytes < std::min(begun.length, text.size())) {
    const unsigned char next = byte(begun.bytes);
    const bool second = begun.bytes == 1;
    if (next < (second ? least : 0x80) || next > (second ? most : 0xbf)) break;
    ++begun.bytes;
  }
  return begun;
}

template <typename Append>
std::string Replaced(std::string_view text, Append append) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    if (TakeCodePoint(text)) {
      valid += before.substr(0, before.size() - text.size());
    } else {
      append(valid);
      TakeInvalidPart(text);
    }
  }
  return valid;
}

}  // namespace

std::optional<char32_t> TakeCodePoint(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = LengthOf(lead);
  if (length == 0 || length > text.size()) return std::nullopt;
  char32_t value = length == 1 ? lead : lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return std::nullopt;
    value = value << 6 | (byte & 0x3fu);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest[length] || surrogate || value > 0x10ffff) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

void AppendCodePoint(char32_t code_point, std::string& text) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  if (code_point < 0x80) {
    text += byte(code_point);
  } else if (code_point < 0x800) {
    text += {byte(0xc0 | code_point >> 6), byte(0x80 | (code_point & 0x3f))};
  } else if (code_point < 0x10000) {
    text += {byte(0xe0 | code_point >> 12), byte(0x80 | (code_point >> 6 & 0x3f)),
             byte(0x80 | (code_point & 0x3f))};
  } else {
    text += {byte(0xf0 | code_point >> 18), byte(0x80 | (code_point >> 12 & 0x3f)),
             byte(0x80 | (code_point >> 6 & 0x3f)), byte(0x80 | (code_point & 0x3f))};
  }
}

size_t WholeUtf8Bytes(std::string_view text) {
  std::string_view rest = text;
  while (TakeCodePoint(rest)) {
  }
  return text.size() - rest.size();
}

void TakeInvalidPart(std::string_view& text) {
  text.remove_prefix(std::max<size_t>(1, BeginningOf(text).bytes));
}

std::string ValidUtf8(std::string_view text, char replacement) {
  return Replaced(text, [replacement](std::string& valid) { valid += replacement; });
}

std::string ValidUtf8(std::string_view text) {
  return Replaced(text, [](std::string& valid) { valid += kReplacementCharacter; });
}

size_t UnfinishedBytes(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const std::string_view end = text.substr(text.size() - back);
    const Beginning begun = BeginningOf(end);
    if (begun.bytes == back && begun.length > back) return back;
  }
  return 0;
}

void CharacterCounter::Add(std::string_view bytes) {
  unfinished_ += bytes;
  std::string_view rest = unfinished_;
  rest.remove_suffix(UnfinishedBytes(rest));
  const size_t whole = rest.size();
  for (; !rest.empty(); ++count_) {
    if (!TakeCodePoint(rest)) TakeInvalidPart(rest);
  }
  unfinished_.erase(0, whole);
}

}  // namespace gp

#include "base/utf8.h"

namespace gp {
namespace {

constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // by length in bytes

size_t LengthOf(unsigned char lead) {
  if (lead < 0x80) return 1;
  if ((lead & 0xe0) == 0xc0) return 2;
  if ((lead & 0xf0) == 0xe0) return 3;
  if ((lead & 0xf8) == 0xf0) return 4;
  return 0;
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

std::string ValidUtf8(std::string_view text, char replacement) {
  std::string valid;
  while (!text.empty()) {
    const std::string_view before = text;
    if (TakeCodePoint(text)) {
      valid += before.substr(0, before.size() - text.size());
    } else {
      valid += replacement;
      text.remove_prefix(1);
    }
  }
  return valid;
}

}  // namespace gp

#include "http/json_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text/utf8.h"

namespace gp::http {
namespace {

void AppendEscaped(unsigned char byte, std::string& out) {
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      constexpr char kDigits[] = "0123456789abcdef";
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
  }
}

bool IsPlain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

}  // namespace

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlain(static_cast<unsigned char>(text[plain]))) ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte < 0x80) {
      AppendEscaped(byte, out);
      text.remove_prefix(1);
    } else if (std::string_view rest = text; TakeCodePoint(rest)) {
      out.append(text.substr(0, text.size() - rest.size()));
      text = rest;
    } else {
      out += kReplacementCharacter;
      TakeInvalidPart(text);
    }
  }
  out += '"';
}

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(text, out);
  return out;
}

void AppendJsonNumber(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "null";
    return;
  }
  if (std::isinf(value)) value = value < 0 ? -9999 : 9999;
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end);
}

void AppendJsonNumber(int64_t value, std::string& out) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end);
}

}  // namespace gp::http

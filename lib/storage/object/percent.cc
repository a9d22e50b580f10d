#include "storage/object/percent.h"

#include <charconv>

#include "base/text/excerpt.h"

namespace gp::object {
namespace {

// Not isalnum, which depends on the locale.
bool IsPlain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

std::string Encode(std::string_view text, bool keep_slashes) {
  std::string encoded;
  for (const char byte : text) {
    if (IsPlain(byte) || (keep_slashes && byte == '/')) {
      encoded += byte;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return encoded;
}

}  // namespace

std::string EncodePart(std::string_view text) { return Encode(text, false); }

std::string EncodePath(std::string_view path) { return Encode(path, true); }

StatusOr<std::string> Decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned char byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const char* end = digits.data() + digits.size();
    if (digits.size() != 2 || std::from_chars(digits.data(), end, byte, 16).ptr != end) {
      return InvalidArgument("'{}' has a '%' without two hexadecimal digits", Excerpt(text));
    }
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

}  // namespace gp::object

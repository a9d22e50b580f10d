#include "formats/versioned_arithmetic.h"

#include <charconv>
#include <system_error>

namespace gp::formats {

std::string Text(const VersionedArithmetic& arithmetic) {
  if (arithmetic.version == 1) return arithmetic.name;
  return arithmetic.name + "@" + std::to_string(arithmetic.version);
}

VersionedArithmetic ParseVersionedArithmetic(const std::string& text) {
  const size_t at = text.rfind('@');
  if (at == std::string::npos) return {text};
  VersionedArithmetic parsed{text.substr(0, at)};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + at + 1, end, parsed.version);
  if (error != std::errc() || rest != end || Text(parsed) != text) return {text};
  return parsed;
}

}  // namespace gp::formats

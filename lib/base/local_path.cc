#include "base/local_path.h"

#include <algorithm>

#include "base/text/excerpt.h"

namespace gp {
namespace {

constexpr std::string_view kAfterScheme = "://";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool IsSchemeCharacter(char c) {
  return IsLetter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

// Returns "s3" for "s3://bucket" (RFC 3986, 3.1); empty for text without a scheme.
std::string_view SchemeOf(std::string_view text) {
  const size_t end = text.find(kAfterScheme);
  if (end == std::string_view::npos || end == 0 || !IsLetter(text[0])) return {};
  const std::string_view scheme = text.substr(0, end);
  return std::all_of(scheme.begin(), scheme.end(), IsSchemeCharacter) ? scheme : "";
}

}  // namespace

Status CheckLocalPath(std::string_view text) {
  const std::string_view scheme = SchemeOf(text);
  if (scheme.empty()) return OkStatus();
  if (scheme == "file") {
    return InvalidArgument("'{}' is an address, not a path; write only the path: {}", Excerpt(text),
                           text.substr(scheme.size() + kAfterScheme.size()));
  }
  return InvalidArgument(
      "'{}' is an address, not a path, and gp does not reach {} storage yet; copy it to a local "
      "folder, or mount it, and give that path",
      Excerpt(text), scheme);
}

}  // namespace gp

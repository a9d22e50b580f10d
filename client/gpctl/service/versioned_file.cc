#include "client/gpctl/service/versioned_file.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "base/file.h"

namespace gp::gpctl {
namespace {

constexpr std::string_view kPrefix = "gp/v";

// The value of apiVersion; empty if it is absent; nullopt if the text is not a YAML map.
std::optional<std::string> ApiVersionIn(const std::string& text) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return std::nullopt;
    const YAML::Node version = root["apiVersion"];
    if (!version) return "";
    return version.IsScalar() ? version.Scalar() : "(not a text)";
  } catch (const YAML::Exception&) {
    return std::nullopt;
  }
}

StatusOr<int> ParseVersion(const std::string& path, const std::string& said,
                           const FileFormat& format) {
  if (said.empty()) return 1;
  const size_t digits = said.starts_with(kPrefix) ? kPrefix.size() : said.size();
  const char* end = said.data() + said.size();
  int version = 0;
  const auto parsed = std::from_chars(said.data() + digits, end, version);
  if (parsed.ec != std::errc() || parsed.ptr != end || version < 1) {
    return InvalidArgument("{}: apiVersion '{}'; expected {}", path, said, format.ApiVersion());
  }
  if (version <= format.newest()) return version;
  return FailedPrecondition(
      "{} has apiVersion {}, written by a newer gpctl; this gpctl reads versions up to {}; upgrade "
      "gpctl",
      path, said, format.ApiVersion());
}

// Writes the migrated text, and first copies the old file to <path>.v<version>. An existing copy is
// not replaced, because it is the user's original.
Status Replace(const std::string& path, int version, const std::string& older,
               const std::string& newest) {
  const std::string copy = fmt::format("{}.v{}", path, version);
  if (!FileExists(copy)) RETURN_IF_ERROR(WriteFileAtomically(copy, older, 0600));
  return WriteFileAtomically(path, newest, 0600);
}

}  // namespace

std::string FileFormat::ApiVersion() const { return fmt::format("{}{}", kPrefix, newest()); }

StatusOr<std::string> ReadVersionedFile(const std::string& path, uint64_t size_bytes_max,
                                        const FileFormat& format) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, size_bytes_max));
  const std::optional<std::string> said = ApiVersionIn(text);
  if (!said) return text;
  ASSIGN_OR_RETURN(const int version, ParseVersion(path, *said, format));
  if (version == format.newest()) return text;
  std::string migrated = text;
  for (int from = version; from < format.newest(); ++from) {
    ASSIGN_OR_RETURN(migrated, format.migrations[static_cast<size_t>(from - 1)](migrated));
  }
  // Ignore a failure to write: the next read migrates the text again.
  (void)Replace(path, version, text, migrated);
  return migrated;
}

}  // namespace gp::gpctl

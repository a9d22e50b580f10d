#include "storage/object/credentials_file.h"

#include <algorithm>

#include "base/text/excerpt.h"

namespace gp::object {
namespace {

std::string_view WithoutSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Where the value of `key` is kept; null if it is not used.
std::string* FieldOf(std::string_view key, Credentials& credentials) {
  if (key == "aws_access_key_id") return &credentials.access_key_id;
  if (key == "aws_secret_access_key") return &credentials.secret_access_key;
  if (key == "aws_session_token") return &credentials.session_token;
  return nullptr;
}

}  // namespace

StatusOr<Credentials> ParseCredentialsFile(std::string_view text, const std::string& profile) {
  Credentials credentials;
  bool is_found = false, is_inside = false;
  while (!text.empty()) {
    const std::string_view line = WithoutSpace(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    if (line.starts_with('[') && line.ends_with(']')) {
      is_inside = WithoutSpace(line.substr(1, line.size() - 2)) == profile;
      is_found = is_found || is_inside;
    }
    const size_t equals = line.find('=');
    if (!is_inside || line.starts_with('#') || equals == std::string_view::npos) continue;
    std::string* field = FieldOf(WithoutSpace(line.substr(0, equals)), credentials);
    if (field != nullptr) *field = WithoutSpace(line.substr(equals + 1));
  }
  if (!is_found) return NotFound("there is no profile '{}'", Excerpt(profile));
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
    return InvalidArgument(
        "profile '{}' needs aws_access_key_id and aws_secret_access_key; other kinds of "
        "credentials are not supported",
        Excerpt(profile));
  }
  return credentials;
}

}  // namespace gp::object

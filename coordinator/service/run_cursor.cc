#include "coordinator/service/run_cursor.h"

#include <charconv>
#include <vector>

#include "base/text/excerpt.h"
#include "formats/sha256.h"

namespace gp::coordinator {
namespace {

// Long enough to detect a token of another query or a typing mistake. It does not protect a secret.
constexpr size_t kDigestLength = 12;

std::string Digest(const std::string& text) {
  return formats::Sha256Hex(text).substr(0, kDigestLength);
}

std::string Checksum(const std::string& content) { return Digest("gp page_token " + content); }

std::vector<std::string> Parts(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back().push_back(c);
  }
  return parts;
}

template <typename Number>
bool ReadNumber(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Status NotReturned(const std::string& text) {
  return InvalidArgument(
      "page_token '{}' was not returned by List; leave it out to begin with the first page",
      Excerpt(text));
}

}  // namespace

std::string Text(const RunCursor& cursor, const RunQuery& query) {
  const std::string total = cursor.total ? std::to_string(*cursor.total) : "";
  const std::string content = fmt::format("{}.{}.{}.{}.{}", cursor.as_of, int(cursor.group),
                                          cursor.before, total, Digest(CanonicalText(query)));
  return content + "." + Checksum(content);
}

StatusOr<RunCursor> ParseRunCursor(const std::string& text, const RunQuery& query) {
  const std::vector<std::string> parts = Parts(text);
  if (parts.size() != 6) return NotReturned(text);
  const std::string content = text.substr(0, text.rfind('.'));
  RunCursor cursor;
  int group = 0;
  int64_t total = 0;
  const bool is_read =
      parts[5] == Checksum(content) && ReadNumber(parts[0], cursor.as_of) &&
      ReadNumber(parts[1], group) && group >= 0 && group <= static_cast<int>(RunGroup::kEnded) &&
      ReadNumber(parts[2], cursor.before) && (parts[3].empty() || ReadNumber(parts[3], total));
  if (!is_read) return NotReturned(text);
  if (parts[4] != Digest(CanonicalText(query))) {
    return InvalidArgument(
        "page_token belongs to a list with another filter: namespace, states, submitter, labels, "
        "time and search text must be those of its first page");
  }
  cursor.group = static_cast<RunGroup>(group);
  if (!parts[3].empty()) cursor.total = total;
  return cursor;
}

}  // namespace gp::coordinator

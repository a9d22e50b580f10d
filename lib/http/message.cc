#include "http/message.h"

#include <algorithm>

namespace gp::http {
namespace {

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// `form`: of a query, where a plus is a space.
StatusOr<std::string> Decode(std::string_view text, bool form) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && form) c = ' ';
    if (c == '%') {
      const bool whole = i + 2 < text.size();
      const int high = whole ? DigitOf(text[i + 1]) : -1;
      const int low = whole ? DigitOf(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return InvalidArgument("the path has a '%' without two hexadecimal digits");
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return InvalidArgument("the path holds a zero byte");
    out += c;
  }
  return out;
}

// The parts between separators; all of `text` when it has no separator.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::string_view> Find(const Headers& pairs, std::string_view name) {
  const auto found = std::find_if(pairs.begin(), pairs.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  if (found == pairs.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<std::string_view> Request::Header(std::string_view name) const {
  return Find(headers, name);
}
std::optional<std::string_view> Request::Parameter(std::string_view name) const {
  return Find(query, name);
}
std::string_view Request::Capture(std::string_view name) const {
  return Find(captures, name).value_or("");
}

StatusOr<Target> ParseTarget(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  if (!target.starts_with('/')) return InvalidArgument("the path does not begin with '/'");
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  Target parsed;
  for (const std::string_view part : Split(target.substr(1, question - 1), '/')) {
    ASSIGN_OR_RETURN(std::string segment, Decode(part, /*form=*/false));
    parsed.path.push_back(std::move(segment));
  }
  if (question == std::string_view::npos) return parsed;
  for (const std::string_view part : Split(target.substr(question + 1), '&')) {
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    ASSIGN_OR_RETURN(std::string name, Decode(part.substr(0, equals), /*form=*/true));
    const auto value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    ASSIGN_OR_RETURN(std::string decoded, Decode(value, /*form=*/true));
    parsed.query.emplace_back(std::move(name), std::move(decoded));
  }
  return parsed;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

}  // namespace gp::http

#include "http/message.h"

#include <algorithm>
#include <utility>

#include "base/text/excerpt.h"
#include "base/text/utf8.h"

namespace gp::http {
namespace {

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes %XX escapes. `form`: the text is from a query, where '+' means a space. Errors begin with
// `what`.
StatusOr<std::string> Decode(std::string_view text, bool form, std::string_view what) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && form) c = ' ';
    if (c == '%') {
      const bool whole = i + 2 < text.size();
      const int high = whole ? DigitOf(text[i + 1]) : -1;
      const int low = whole ? DigitOf(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return InvalidArgument("{} has a '%' without two hexadecimal digits", what);
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return InvalidArgument("{} holds a zero byte", what);
    out += c;
  }
  if (IsUtf8(out)) return out;
  return InvalidArgument("{} is not UTF-8: '{}'", what, Excerpt(out));
}

// A parameter's name and value, decoded.
StatusOr<std::pair<std::string, std::string>> DecodeParameter(std::string_view part) {
  const size_t equals = part.find('=');
  ASSIGN_OR_RETURN(std::string name,
                   Decode(part.substr(0, equals), /*form=*/true, "the name of a parameter"));
  const auto value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
  ASSIGN_OR_RETURN(std::string decoded,
                   Decode(value, /*form=*/true, fmt::format("parameter '{}'", Excerpt(name))));
  return std::pair(std::move(name), std::move(decoded));
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

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

bool IsPrintable(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7f;
  });
}

// "GET /path HTTP/1.1", or the beginning of it.
void ReadFirstLine(std::string_view line, ReceivedHeader& received) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr size_t kMethodBytesMax = 16;
  const size_t space = line.find(' ');
  const std::string_view method = line.substr(0, space);
  if (space == std::string_view::npos || method.size() > kMethodBytesMax ||
      method.find_first_not_of(kLetters) != std::string_view::npos) {
    return;
  }
  received.method = method;
  const std::string_view rest = Trimmed(line.substr(space + 1));
  const std::string_view target = rest.substr(0, rest.find(' '));
  if (IsPrintable(target)) received.target = target;
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
std::vector<std::string> Request::HeaderList(std::string_view name) const {
  std::vector<std::string> elements;
  for (const auto& [other, value] : headers) {
    if (other != name) continue;
    for (const std::string_view part : Split(value, ',')) {
      if (const auto element = Trimmed(part); !element.empty()) elements.push_back(Lower(element));
    }
  }
  return elements;
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
    ASSIGN_OR_RETURN(std::string segment, Decode(part, /*form=*/false, "the path"));
    parsed.path.push_back(std::move(segment));
  }
  if (question == std::string_view::npos) return parsed;
  for (const std::string_view part : Split(target.substr(question + 1), '&')) {
    if (part.empty()) continue;
    ASSIGN_OR_RETURN(auto parameter, DecodeParameter(part));
    parsed.query.push_back(std::move(parameter));
  }
  return parsed;
}

ReceivedHeader ReadReceivedHeader(std::string_view bytes) {
  ReceivedHeader received;
  bool is_first = true;
  for (size_t end; (end = bytes.find('\n')) != std::string_view::npos || is_first;) {
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::exchange(is_first, false)) {
      ReadFirstLine(line, received);
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    received.headers.emplace_back(Lower(line.substr(0, colon)), Trimmed(line.substr(colon + 1)));
  }
  return received;
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

#include "http/site_check.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/text/excerpt.h"

namespace gp::http {
namespace {

// "host:port" of "scheme://host:port", without the scheme's default port.
std::string AuthorityOf(std::string_view origin) {
  std::string_view usual_port = "";
  if (origin.starts_with("http://")) usual_port = ":80";
  if (origin.starts_with("https://")) usual_port = ":443";
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return "";
  std::string_view authority = origin.substr(scheme + 3);
  if (!usual_port.empty() && authority.ends_with(usual_port)) {
    authority.remove_suffix(usual_port.size());
  }
  return Lower(authority);
}

// Whether the Host header `host` names the server that the page of `origin` came from.
bool IsHomeOf(std::string_view origin, std::string_view host) {
  const std::string_view scheme = origin.substr(0, origin.find("://"));
  const std::string home = AuthorityOf(origin);
  return !home.empty() && home == AuthorityOf(std::string(scheme) + "://" + std::string(host));
}

// The name in "name:port", "[::1]:port", "name".
std::string NameOf(std::string_view host) {
  if (host.starts_with('[')) return Lower(host.substr(1, host.find(']') - 1));
  std::string name = Lower(host.substr(0, host.find(':')));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

bool IsAddress6(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool IsAddress(const std::string& text) {
  in_addr address;
  return inet_pton(AF_INET, text.c_str(), &address) == 1 || IsAddress6(text);
}

// Letters, digits, '-' and '_' between dots, in lower case.
bool IsName(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
  constexpr size_t kBytesMax = 253;
  return !text.empty() && text.size() <= kBytesMax && !text.starts_with('.') &&
         !text.ends_with('.') && text.find("..") == std::string_view::npos &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// The name in a URL, or before a port.
std::string NameIn(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  return NameOf(text.substr(0, text.find_first_of("/?#")));
}

bool IsPort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0;
}

// "name", "name:80", "[::1]:80", as browsers write it in an origin.
bool IsAuthority(std::string_view text) {
  const bool is_bracketed = text.starts_with('[');
  const size_t end = is_bracketed ? text.find(']') : text.find(':');
  if (is_bracketed && end == std::string_view::npos) return false;
  const std::string name(text.substr(is_bracketed, end - is_bracketed));
  std::string_view port = text.substr(std::min(text.size(), is_bracketed ? end + 1 : end));
  if (!port.empty() && (!port.starts_with(':') || port.starts_with(":0"))) return false;
  if (!port.empty() && !IsPort(port.substr(1))) return false;
  return is_bracketed ? IsAddress6(name) : IsName(name);
}

// "name", "name:80", "[::1]:80": only a port, possibly empty, after the name.
bool IsHostAndPort(std::string_view host) {
  const size_t end = host.starts_with('[') ? host.find(']') : host.find(':');
  if (end == std::string_view::npos) return !host.starts_with('[');
  std::string_view port = host.substr(host.starts_with('[') ? end + 1 : end);
  if (port.empty()) return true;
  return port == ":" || (port.starts_with(':') && IsPort(port.substr(1)));
}

// Refuses a Host that can be read in two ways, so that the checked name is the used one.
std::optional<ApiError> UnclearHost(const Request& request) {
  const auto is_host = [](const auto& header) { return header.first == "host"; };
  if (std::count_if(request.headers.begin(), request.headers.end(), is_host) > 1) {
    return ApiError{.status = 400,
                    .message = "this request has more than one Host; send one",
                    .code = "invalid_host"};
  }
  const auto host = request.Header("host");
  if (!host || IsHostAndPort(*host)) return std::nullopt;
  return ApiError{.status = 400,
                  .message = fmt::format("Host is '{}', expected a name or an address and a port",
                                         Excerpt(*host)),
                  .code = "invalid_host"};
}

// Whether no other site can have a page under this name.
bool IsOwnName(const std::string& name) {
  return name == "localhost" || name.ends_with(".localhost") || IsAddress(name);
}

bool Contains(const std::vector<std::string>& list, const std::string& entry) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& one) { return one == "*" || one == entry; });
}

bool IsFromABrowser(const Request& request) {
  return request.Header("origin") || request.Header("sec-fetch-site");
}

// Whether the request comes from the server's own page. The browser's header, which no page can
// change, decides it; without that header, the page and the server must have the same address,
// before or behind a proxy.
bool IsSameSite(const Request& request, std::string_view origin) {
  if (const auto site = request.Header("sec-fetch-site")) {
    return site == "same-origin" || site == "none";
  }
  return IsHomeOf(origin, request.Header("host").value_or("")) ||
         IsHomeOf(origin, request.Header("x-forwarded-host").value_or(""));
}

// Whether a page of another site sends the request without an Origin, as for an image, a script or
// a frame. The page cannot read the answer, but could occupy a connection. A link that a person
// follows is not refused.
bool IsEmbeddedElsewhere(const Request& request) {
  const auto site = request.Header("sec-fetch-site");
  const bool is_link = request.Header("sec-fetch-mode") == "navigate" &&
                       request.Header("sec-fetch-dest").value_or("document") == "document";
  return (site == "cross-site" || site == "same-site") && !is_link;
}

}  // namespace

StatusOr<std::string> ParseHostName(std::string_view text) {
  std::string name = Lower(text);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  if (name.ends_with('.')) name.pop_back();
  if (text == "*" || IsAddress(name) || IsName(name)) return name;
  const std::string meant = NameIn(text);
  if (IsAddress(meant) || IsName(meant)) {
    return InvalidArgument(
        "'{}' is more than a name, and Host is compared without a port; write {}", Excerpt(text),
        meant);
  }
  return InvalidArgument(
      "'{}' is not a name; write one name for each entry, such as gp.example.org (other letters as "
      "xn--…), or \"*\" for every name",
      Excerpt(text));
}

StatusOr<std::string> ParseOrigin(std::string_view text) {
  std::string origin = Lower(text);
  if (origin == "*" || origin == "null") return origin;
  if (origin.ends_with('/')) origin.pop_back();
  const std::string scheme = origin.substr(0, origin.find("://"));
  const std::string authority = AuthorityOf(origin);
  if (IsName(scheme) && IsAuthority(authority)) return scheme + "://" + authority;
  return InvalidArgument(
      "'{}' is not an origin; write one as https://site.example or https://site.example:8443, with "
      "a "
      "port from 1 to 65535 and without a path, or \"*\" for every origin",
      Excerpt(text));
}

std::string AllowedOrigin(const SiteRules& rules, const Request& request) {
  const std::string origin(request.Header("origin").value_or(""));
  const bool allowed = !origin.empty() && Contains(rules.cors_origins, Lower(origin));
  return allowed ? origin : "";
}

std::optional<ApiError> RefusedOrigin(const SiteRules& rules, const Request& request) {
  const auto origin = request.Header("origin");
  if (!origin && IsEmbeddedElsewhere(request) && !Contains(rules.cors_origins, "*")) {
    return ApiError{.status = 403,
                    .message =
                        "pages of other sites may not embed what this server answers; "
                        "fetch it in mode \"cors\" from an origin that the server allows",
                    .code = "origin_not_allowed"};
  }
  if (!origin || IsSameSite(request, *origin)) return std::nullopt;
  if (!AllowedOrigin(rules, request).empty()) return std::nullopt;
  if (Lower(*origin) == "null") {  // many pages have it: allowing it allows them all
    return ApiError{.status = 403,
                    .message =
                        "a page whose origin the browser hides (a file, a sandboxed frame, a "
                        "redirect) may not use this server; serve the page over HTTP",
                    .code = "origin_not_allowed"};
  }
  return ApiError{.status = 403,
                  .message = fmt::format(
                      "pages of {} may not use this server; its operator can allow them "
                      "with --cors-origin {}; a proxy in front of the server's own pages must "
                      "forward the Host that the browser sent (nginx: proxy_set_header Host "
                      "$http_host;), or send it as X-Forwarded-Host",
                      Excerpt(*origin), Excerpt(*origin)),
                  .code = "origin_not_allowed"};
}

std::optional<ApiError> RefusedHost(const SiteRules& rules, const Request& request) {
  if (auto unclear = UnclearHost(request)) return unclear;
  const auto host = request.Header("host");
  if (!rules.checks_host || !host) return std::nullopt;
  const std::string name = NameOf(*host);
  if (IsOwnName(name) || Contains(rules.allowed_hosts, name)) return std::nullopt;
  const std::string start = IsName(name) ? ", or start it with --allowed-host " + name : "";
  return ApiError{.status = 403,
                  .message = fmt::format(
                      "this server does not answer to the name '{}'; use its address{}; if a "
                      "proxy sent this name, let it forward the Host that the client sent "
                      "(nginx: proxy_set_header Host $host;) and start the server with "
                      "--allowed-host and the name in it",
                      Excerpt(name), start),
                  .code = "host_not_allowed"};
}

std::optional<ApiError> RefusedContentType(const Request& request) {
  if (request.method != "POST" || !IsFromABrowser(request)) return std::nullopt;
  const std::string type = Lower(request.Header("content-type").value_or(""));
  const std::string_view essence = std::string_view(type).substr(0, type.find_first_of("; \t"));
  if (essence == "application/json") return std::nullopt;
  return ApiError{.status = 415,
                  .message = fmt::format("expected a body with Content-Type: application/json, "
                                         "not '{}'",
                                         Excerpt(type)),
                  .code = "unsupported_content_type"};
}

}  // namespace gp::http

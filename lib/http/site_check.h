// SiteCheck: decides which web pages may use a server from a browser, by the page's origin and by
// the Host name (DNS rebinding: another site's name may point at this machine). Pure functions;
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "http/api_error.h"
#include "http/message.h"

namespace gp::http {

struct SiteRules {
  // Origins of other sites' pages that may use the server, as ParseOrigin returns them.
  std::vector<std::string> cors_origins;
  // Requests must name the server by an IP address, localhost or one of `allowed_hosts`.
  bool checks_host = false;
  std::vector<std::string> allowed_hosts;  // as ParseHostName returns them
};

// Parses a name that requests may have in Host into the form that is compared: in lower case,
// without the brackets of an address or a dot at the end; or "*". An error names the form that is
// expected: a port, a URL or a pattern would match nothing.
StatusOr<std::string> ParseHostName(std::string_view text);
// An origin as browsers send it: "https://host[:port]" in lower case, without the scheme's own
// port; "null", or "*". An error names the form that is expected.
StatusOr<std::string> ParseOrigin(std::string_view text);

// The request's Origin, when `rules` let its pages read the answers; else empty.
std::string AllowedOrigin(const SiteRules& rules, const Request& request);

// Why a page of another site may not do this; nullopt if the request is not from one, or is
// allowed.
std::optional<ApiError> RefusedOrigin(const SiteRules& rules, const Request& request);
// Why the server does not answer to the name in Host: it is not one of its names, or not a name and
// port at all. Nullopt if it does.
std::optional<ApiError> RefusedHost(const SiteRules& rules, const Request& request);
// Refuses a POST of a browser whose content type is not JSON, because a browser sends other types
// to other sites without a preflight.
std::optional<ApiError> RefusedContentType(const Request& request);

}  // namespace gp::http

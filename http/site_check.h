// SiteCheck: which pages a browser may let use a server: by the origin of the page, and by the name
// that the server was asked for (a name that another site points at this machine is not ours).
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "http/api_error.h"
#include "http/message.h"

namespace gp::http {

struct SiteRules {
  // Origins of other sites' pages that may use the server: "https://host[:port]", or "*".
  std::vector<std::string> cors_origins;
  // Requests must name the server by an IP address, localhost or one of `allowed_hosts`.
  bool checks_host = false;
  std::vector<std::string> allowed_hosts;  // names without a port, or "*"
};

// The request's Origin, when `rules` let its pages read the answers; else empty.
std::string AllowedOrigin(const SiteRules& rules, const Request& request);

// Why a page of another site may not do this; nothing when the request is not from one, or when it
// may.
std::optional<ApiError> RefusedOrigin(const SiteRules& rules, const Request& request);
// Why the server does not answer to the name in Host.
std::optional<ApiError> RefusedHost(const SiteRules& rules, const Request& request);
// A browser sends other content types to other sites without asking first.
std::optional<ApiError> RefusedContentType(const Request& request);

}  // namespace gp::http

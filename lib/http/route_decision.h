// RouteDecision: which route answers a request, or which answer refuses it. Decided by the header
// alone, before the body has arrived. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/router.h"
#include "http/server_options.h"

namespace gp::http {

// The request line's target, as it is shown in messages and logs.
std::string ShownTarget(std::string_view target);

struct RequestLine {
  std::string_view target;  // "/v1/models?limit=3", as sent
  bool http_1_0 = false;    // such a request needs no Host
};

struct RouteDecision {
  const Route* route = nullptr;     // the one of this path and method, if there is one
  std::string origin;               // the request's Origin, if it may use the server; else empty
  std::optional<Response> refusal;  // nullopt: the route's handler may run
};

// Checks the path, Host, Origin, the method, the key and the content type, in this order. Fills in
// the request's path, query, captures and key_name.
RouteDecision DecideRoute(const ServerContext& context, const RequestLine& line, Request& request);

}  // namespace gp::http

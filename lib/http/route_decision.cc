#include "http/route_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "http/api_error.h"
#include "http/error_page.h"
#include "http/site_check.h"

namespace gp::http {
namespace {

// The headers that the preflight asks for, if it is a list of names; otherwise those that our own
// pages send.
std::string AllowedHeaders(const Request& request) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_, ";
  const std::string_view asked = request.Header("access-control-request-headers").value_or("");
  const bool is_list = asked.find_first_not_of(kAllowed) == std::string_view::npos;
  return asked.empty() || !is_list ? "authorization, content-type, x-request-id"
                                   : std::string(asked);
}

ApiError KeyProblem(const Request& request) {
  const std::string_view sent = request.Header("authorization").value_or("");
  ApiError error{.status = 401, .code = "invalid_api_key"};
  if (sent.empty()) {
    error.code = "missing_api_key";
    error.message = "this server needs a key: send the header Authorization: Bearer KEY";
    if (request.Header("x-api-key") || request.Header("api-key")) {
      error.message += ", not an API key in a header of another name";
    }
  } else if (!Lower(sent).starts_with("bearer ")) {
    error.message = "the Authorization header is not understood: send Authorization: Bearer KEY";
  } else {
    error.message =
        "incorrect API key: the key in the Authorization header is not one of this server's; "
        "ask its operator for a valid one";
  }
  return error;
}

ApiError MissingHost() {
  return {.status = 400,
          .message = "this HTTP/1.1 request has no Host; send the server's name or address in it",
          .code = "invalid_host"};
}

// Redirect target for a path with an extra slash: the same path without it, relative to `target`.
std::string WithoutSlash(std::string_view target) {
  const size_t query = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, query - 1);
  return fmt::format("..{}{}", path.substr(path.rfind('/')), target.substr(query));
}

Response UnknownPath(const Router& router, const Request& request, std::string_view target) {
  const std::vector<std::string>& path = request.path;
  const auto meant = router.Suggest(path);
  if (request.method == "GET" && meant && path.size() > 1 && path.back().empty()) {
    std::string without;
    for (size_t i = 0; i + 1 < path.size(); ++i) without += "/" + path[i];
    if (*meant == without) {
      return {.status = 308, .content_type = "", .headers = {{"Location", WithoutSlash(target)}}};
    }
  }
  std::string message = fmt::format("there is nothing at {}", ShownTarget(target));
  if (meant) message += fmt::format("; did you mean {}?", *meant);
  return ErrorResponseTo(request, {.status = 404, .message = message, .code = "unknown_path"});
}

Response WrongMethod(const Request& request, std::string_view target, const std::string& allowed) {
  Response response = ErrorResponseTo(
      request, {.status = 405,
                .message = fmt::format("{} accepts only {}", ShownTarget(target), allowed),
                .code = "wrong_method"});
  response.headers.emplace_back("Allow", allowed);
  return response;
}

// Whether this is a preflight of a page that may use this server. Any other OPTIONS request is
// treated like all requests.
bool IsPreflight(const Request& request, const std::string& origin) {
  return request.method == "OPTIONS" && !origin.empty() &&
         request.Header("access-control-request-method");
}

Response Preflight(const Request& request, const std::string& origin, const std::string& allowed) {
  Response response{.status = 204, .content_type = "", .headers = {{"Allow", allowed}}};
  if (origin.empty()) return response;
  response.headers.emplace_back("Access-Control-Allow-Methods", allowed);
  response.headers.emplace_back("Access-Control-Allow-Headers", AllowedHeaders(request));
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  // A page from the internet asks to use a server in the local network (Private Network Access).
  if (request.Header("access-control-request-private-network")) {
    response.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  }
  return response;
}

// Finds the name of the key that the request presents. The answer to a request without a valid key
// for a route that needs one.
std::optional<Response> RefusedKey(const ServerContext& context, const Route& route,
                                   Request& request) {
  if (!context.key_name) return std::nullopt;
  const auto name = context.key_name(request.Header("authorization").value_or(""));
  if (name) request.key_name = *name;
  if (name || route.open) return std::nullopt;
  Response response = ErrorResponseTo(request, KeyProblem(request));
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

// Finds the route for `decision`; returns the answer to a bad request.
std::optional<Response> FindRoute(const ServerContext& context, const RequestLine& line,
                                  Request& request, RouteDecision& decision) {
  if (!line.http_1_0 && !request.Header("host")) return ErrorResponseTo(request, MissingHost());
  auto target = ParseTarget(line.target);
  if (!target.ok()) return ErrorResponseTo(request, ErrorOf(target.status()));
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  const Router::Found found = context.router.Find(request.method, request.path, request.captures);
  if (const auto* route = std::get_if<const Route*>(&found)) decision.route = *route;
  if (decision.route == nullptr || !decision.route->any_host) {
    if (const auto error = RefusedHost(context.sites, request)) {
      return ErrorResponseTo(request, *error);
    }
  }
  if (const auto error = RefusedOrigin(context.sites, request)) {
    return ErrorResponseTo(request, *error);
  }
  if (std::holds_alternative<Router::Unknown>(found)) {
    // A browser does not show its page the answer to a preflight, so the hint goes into the answer
    // to the request itself.
    return IsPreflight(request, decision.origin)
               ? Preflight(request, decision.origin, "GET, HEAD, POST, OPTIONS")
               : UnknownPath(context.router, request, line.target);
  }
  if (const auto* wrong = std::get_if<Router::WrongMethod>(&found)) {
    return request.method == "OPTIONS" ? Preflight(request, decision.origin, wrong->allowed)
                                       : WrongMethod(request, line.target, wrong->allowed);
  }
  if (auto refused = RefusedKey(context, *decision.route, request)) return refused;
  if (const auto error = RefusedContentType(request)) return ErrorResponseTo(request, *error);
  return std::nullopt;
}

}  // namespace

std::string ShownTarget(std::string_view target) {
  constexpr size_t kBytesMax = 200;
  return std::string(target.substr(0, kBytesMax));
}

RouteDecision DecideRoute(const ServerContext& context, const RequestLine& line, Request& request) {
  RouteDecision decision{.origin = AllowedOrigin(context.sites, request)};
  decision.refusal = FindRoute(context, line, request, decision);
  return decision;
}

}  // namespace gp::http

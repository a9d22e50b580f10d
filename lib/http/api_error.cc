#include "http/api_error.h"

#include "http/json_text.h"

namespace gp::http {
namespace {

void AppendTextOrNull(std::string_view text, std::string& out) {
  if (text.empty()) {
    out += "null";
  } else {
    AppendJsonString(text, out);
  }
}

int StatusOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kPermissionDenied:
      return 403;
    case StatusCode::kResourceExhausted:
      return 429;
    case StatusCode::kUnavailable:
      return 503;
    case StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

}  // namespace

std::string_view TypeOf(const ApiError& error) {
  switch (error.status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "unavailable_error";
    case 504:
      return "timeout_error";
    default:
      return error.status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string ErrorBody(const ApiError& error) {
  std::string out = R"({"error":{"message":)";
  AppendJsonString(error.message, out);
  out += R"(,"type":)";
  AppendJsonString(TypeOf(error), out);
  out += R"(,"param":)";
  AppendTextOrNull(error.param, out);
  out += R"(,"code":)";
  AppendTextOrNull(error.code, out);
  return out + "}}";
}

Response ErrorResponse(const ApiError& error) {
  Response response{.status = error.status, .body = ErrorBody(error)};
  if (error.retry_after) {
    response.headers.emplace_back("Retry-After", std::to_string(*error.retry_after));
  } else if (error.status >= 500) {
    response.headers.emplace_back("x-should-retry", "false");
  }
  return response;
}

ApiError ErrorOf(const Status& status) {
  ApiError error{.status = StatusOf(status.code()), .message = Message(status)};
  if (error.status == 503 || error.status == 429) error.retry_after = 1;
  return error;
}

}  // namespace gp::http

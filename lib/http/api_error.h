// ApiError: the error sent to a client, in OpenAI's format:
// {"error":{"message","type","param","code"}}. Values and pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "http/message.h"

namespace gp::http {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param;  // the field that is wrong; may be empty
  std::string code;   // for programs; may be empty
  // Seconds after which a retry may succeed; absent: the same request would fail again.
  std::optional<int> retry_after;
};

// "invalid_request_error", "not_found_error", "rate_limit_error", "server_error", …
std::string_view TypeOf(const ApiError& error);

// The body, in one line.
std::string ErrorBody(const ApiError& error);
// Sets Retry-After; a server error that a retry would repeat gets x-should-retry: false.
Response ErrorResponse(const ApiError& error);

// The HTTP status of a Status, by its code; codes that are not in the list of api_error.cc, such as
// FAILED_PRECONDITION, give 500. UNAUTHENTICATED too: it says that another server refused this
// program's own credentials, while 401 would tell the client that its key is wrong. For 429 and 503
// retry_after is 1.
ApiError ErrorOf(const Status& status);

}  // namespace gp::http

// ApiError: what a client is told when a request cannot be answered, in the shape of OpenAI's
// errors: {"error":{"message","type","param","code"}}. Values and pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "client/gateway/http/message.h"

namespace gp::gateway {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param;  // the field that is wrong; empty: none
  std::string code;   // for programs; empty: none
  // Seconds after which it is worth trying again; absent: not by itself.
  std::optional<int> retry_after;
};

// "invalid_request_error", "not_found_error", "rate_limit_error", "server_error", …
std::string_view TypeOf(const ApiError& error);

// The body, in one line.
std::string ErrorBody(const ApiError& error);
// With Retry-After, or with x-should-retry: false for a server's error that would come again.
Response ErrorResponse(const ApiError& error);

// What a Status means to a client: its code decides the number.
ApiError ErrorOf(const Status& status);

}  // namespace gp::gateway

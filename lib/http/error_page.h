// An error as an answer: JSON for programs, a short page for a person at a browser. Pure functions;
// thread-safe.
#pragma once

#include "http/api_error.h"
#include "http/message.h"

namespace gp::http {

// The same as ErrorResponse, but an HTML page if a browser asked for one.
Response ErrorResponseTo(const Request& request, const ApiError& error);

}  // namespace gp::http

// Content codings of request bodies: gzip and deflate, undone within a limit of bytes. Pure
// functions; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "http/api_error.h"
#include "http/message.h"

namespace gp::http {

// Whether the body is sent without a content coding.
bool IsPlainBody(const Request& request);

// Replaces the request's body by its decoded content: for gzip all members, joined; for deflate a
// stream with or without zlib's header. An error when the coding is unknown, the body is damaged,
// or would be longer than `bytes_max`.
std::optional<ApiError> DecodeBody(Request& request, size_t bytes_max);

}  // namespace gp::http

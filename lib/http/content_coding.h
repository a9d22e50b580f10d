// Codings of request bodies: gzip and deflate as Content-Encoding, undone within a limit of bytes;
// chunked as Transfer-Encoding, which the connection undoes. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "http/api_error.h"
#include "http/message.h"

namespace gp::http {

// Whether the body is sent without a content coding.
bool IsPlainBody(const Request& request);

// Replaces the request's body by what its Content-Encoding stands for: of gzip all members, joined;
// of deflate a stream with zlib's header or without. An error when the coding is not known, there
// are several, the body is damaged, or would be longer than `bytes_max`.
std::optional<ApiError> DecodeBody(Request& request, size_t bytes_max);

// The error for a Transfer-Encoding other than "chunked" alone; nullopt for chunked or none. After
// such an error the end of the body is unknown, so the connection must be closed.
std::optional<ApiError> RefusedTransferCoding(const Request& request);

}  // namespace gp::http

// Codings of request bodies. DecodeBody decodes the Content-Encodings gzip and deflate, up to a
// limit of bytes. The Transfer-Encoding is only checked here: the connection decodes chunked. Pure
// functions; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "http/api_error.h"
#include "http/message.h"

namespace gp::http {

// Whether the body is sent without a content coding.
bool IsPlainBody(const Request& request);

// Replaces the request's body by the decoded one: all members of gzip, joined, or a stream of
// deflate with or without zlib's header. An error when the coding is not known, there are several,
// the body is damaged, or would be longer than `bytes_max`.
std::optional<ApiError> DecodeBody(Request& request, size_t bytes_max);

// The error for a Transfer-Encoding other than "chunked" alone; nullopt for chunked or none. After
// such an error the end of the body is unknown, so the connection must be closed.
std::optional<ApiError> RefusedTransferCoding(const Request& request);

}  // namespace gp::http

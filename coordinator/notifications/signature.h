// Signature: proves to a receiver that a notification comes from this coordinator and when it was
// sent (docs/operations/notifications.md). Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gp::coordinator {

// "v1=" and the HMAC-SHA256 of "<timestamp>.<body>" with `secret`, in hexadecimal digits.
// `timestamp`: seconds since 1970.
std::string SignatureOf(std::string_view secret, int64_t timestamp, std::string_view body);

}  // namespace gp::coordinator

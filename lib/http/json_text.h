// JSON written by hand, for answers that are many and small. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gp::http {

// A JSON string with its quotes. What is not UTF-8 becomes U+FFFD, as ValidUtf8 does it.
void AppendJsonString(std::string_view text, std::string& out);
std::string JsonString(std::string_view text);

// The shortest number that reads back as the same; NaN is null, and infinity is -9999 or 9999, as
// on OpenAI's servers.
void AppendJsonNumber(double value, std::string& out);
void AppendJsonNumber(int64_t value, std::string& out);

}  // namespace gp::http

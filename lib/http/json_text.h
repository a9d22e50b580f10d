// Writes JSON without a library, for answers that are many and small. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gp::http {

// A JSON string with its quotes. Invalid UTF-8 becomes U+FFFD, as in ValidUtf8.
void AppendJsonString(std::string_view text, std::string& out);
std::string JsonString(std::string_view text);

// The shortest text that reads back as the same number; NaN is null, and infinity is -9999 or 9999,
// as on OpenAI's servers.
void AppendJsonNumber(double value, std::string& out);
void AppendJsonNumber(int64_t value, std::string& out);

}  // namespace gp::http

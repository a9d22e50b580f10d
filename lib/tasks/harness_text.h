// The texts of HellaSwag as lm-evaluation-harness prepares them. Pure functions; any thread may
// call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gp::tasks {

// Its `preprocess`: strips white space at both ends, replaces " [title]" by ". ", removes text in
// [brackets] on one line, then replaces two spaces by one.
std::string HarnessText(std::string_view text);

// Python's str.capitalize: the first letter in upper case, the others in lower case. Letters are
// mapped one by one, by the C library's table: "ß" stays "ß".
std::string Capitalized(std::string_view text);

// Code points, as Python's len counts them.
int64_t CodePointCount(std::string_view text);

// Bytes of `text` without the white space at its end, as Python's rstrip finds it.
size_t TrimmedSize(std::string_view text);

}  // namespace gp::tasks

// UTF-8, strictly: shortest forms only, no surrogates, nothing above U+10FFFF. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gp {

// Removes one code point from the front of `text` and returns it. Nullopt, and `text` unchanged,
// when `text` does not begin with one.
std::optional<char32_t> TakeCodePoint(std::string_view& text);

void AppendCodePoint(char32_t code_point, std::string& text);

// `text` with each byte that belongs to no code point replaced.
std::string ValidUtf8(std::string_view text, char replacement);

}  // namespace gp

// Colours of a terminal, as ANSI escape sequences. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace gp::gpctl {

enum class Color { kNone, kGreen, kYellow, kRed, kBlue, kGrey, kCyan, kMagenta, kBold };

// The number of `color` in an escape sequence (SGR of ECMA-48); 0 for kNone.
int ColorCode(Color color);

// `text` between the escape sequences of `color`; `text` itself for kNone and for an empty text.
std::string Colored(std::string_view text, Color color);

}  // namespace gp::gpctl

#include "client/gpctl/terminal/color.h"

#include <fmt/format.h>

namespace gp::gpctl {

// Bright black is a grey that is readable on dark and on light terminals.
int ColorCode(Color color) {
  switch (color) {
    case Color::kGreen:
      return 32;
    case Color::kYellow:
      return 33;
    case Color::kRed:
      return 31;
    case Color::kBlue:
      return 34;
    case Color::kGrey:
      return 90;
    case Color::kCyan:
      return 36;
    case Color::kMagenta:
      return 35;
    case Color::kBold:
      return 1;
    case Color::kNone:
      break;
  }
  return 0;
}

std::string Colored(std::string_view text, Color color) {
  if (color == Color::kNone || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", ColorCode(color), text);
}

}  // namespace gp::gpctl

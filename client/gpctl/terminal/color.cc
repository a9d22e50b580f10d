#include "client/gpctl/terminal/color.h"

#include <fmt/format.h>

namespace gp::gpctl {
namespace {

// SGR codes of ECMA-48. Bright black is a grey that is readable on dark and on light terminals.
int CodeOf(Color color) {
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
    case Color::kNone:
      break;
  }
  return 0;
}

}  // namespace

std::string Colored(std::string_view text, Color color) {
  if (color == Color::kNone || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", CodeOf(color), text);
}

}  // namespace gp::gpctl

#include "client/gpctl/terminal/fitted_line.h"

#include <algorithm>

#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

std::string Joined(const std::vector<LinePart>& parts, std::string_view separator) {
  std::string line;
  for (const LinePart& part : parts) {
    if (part.text.empty()) continue;
    if (!line.empty()) line += separator;
    line += part.text;
  }
  return line;
}

}  // namespace

std::string FittedLine(std::vector<LinePart> parts, std::string_view separator, int width) {
  std::string line = Joined(parts, separator);
  while (width > 0 && DisplayWidth(line) > width) {
    const auto least = std::ranges::max_element(parts, {}, &LinePart::rank);
    if (least == parts.end() || least->rank == 0) break;
    parts.erase(least);
    line = Joined(parts, separator);
  }
  return line;
}

}  // namespace gp::gpctl

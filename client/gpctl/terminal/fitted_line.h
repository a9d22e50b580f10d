// FittedLine: a line of parts; on a narrow terminal the least important ones are left out. Pure
// function; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gp::gpctl {

struct LinePart {
  std::string text;  // an empty part is left out
  int rank = 0;      // the highest rank is left out first, rank 0 never
};

// The parts with `separator` between them, in at most `width` columns if leaving out parts
// suffices. A width of 0 means no limit.
std::string FittedLine(std::vector<LinePart> parts, std::string_view separator, int width);

}  // namespace gp::gpctl

// ScreenPart: a part of a live screen that can be drawn in few rows or in many. Pure functions;
// thread-safe if `draw` is.
#pragma once

#include <functional>
#include <vector>

#include "client/gpctl/terminal/screen_line.h"

namespace gp::gpctl {

struct ScreenPart {
  int least = 1;   // with fewer rows the part is left out
  int most = 1;    // more rows do not help
  int rank = 0;    // parts of a higher rank are left out first
  int weight = 1;  // its share of the rows that are left when each part has its least
  std::function<std::vector<ScreenLine>(int rows)> draw;
};

// A part of these lines; shown whole or not at all.
ScreenPart FixedPart(std::vector<ScreenLine> lines, int rank);

// The rows of each part; 0: left out.
std::vector<int> ShareRows(const std::vector<ScreenPart>& parts, int rows);

// The parts below each other in exactly `rows` lines, empty ones last.
std::vector<ScreenLine> Stacked(const std::vector<ScreenPart>& parts, int rows);

}  // namespace gp::gpctl

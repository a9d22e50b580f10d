// A chart as lines of text: braille characters, or ASCII. Pure function; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/plot/chart.h"

namespace gp::gpctl {

struct ChartSize {
  int columns = 80;
  int rows = 20;
};

struct ChartStyle {
  bool utf8 = true;
  bool color = false;
};

// At most `size.rows` lines (exactly as many if there is room for the curves), none wider than
// `size.columns`: the title, the curves with their axes, and a legend with each curve's last value.
// Where colours do not tell several curves apart, they are drawn with a letter each; a curve
// without a label has the capital of the one before it. A value that is NaN is an "x" at the upper
// edge; an infinite one is "^" there or "v" at the lower edge. Labels may have any characters.
std::vector<std::string> DrawChart(const Chart& chart, ChartSize size, const ChartStyle& style);

}  // namespace gp::gpctl

// Charts as an SVG picture, panel below panel over one x axis. Pure function; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/plot/chart.h"
#include "client/gpctl/plot/svg_theme.h"

namespace gp::gpctl {

struct SvgPicture {
  std::string title;
  std::string subtitle;            // what a reader must know to read the curves; may be empty
  std::vector<Chart> panels;       // with equal x axes and x_range
  std::vector<std::string> notes;  // below the panels
};

// Each curve with a label is named at its end, in its color. A value that is NaN is a cross at the
// upper edge, an infinite one a triangle. Texts may have any characters.
// REQUIRES: at least one panel.
std::string SvgText(const SvgPicture& picture, const SvgTheme& theme);

}  // namespace gp::gpctl

// Chart: curves over a common x axis, to be drawn in the terminal or as SVG. Values and pure
// functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/gpctl/plot/axis.h"

namespace gp::gpctl {

// How a line is drawn.
enum class Stroke { kSolid, kDashed, kDotted, kDashDotted };
inline constexpr size_t kStrokeCount = 4;
inline constexpr size_t kCurveColorCount = 8;  // of every palette

struct Curve {
  std::string label;      // at the end of the line, or in the legend; empty: none
  std::vector<double> x;  // increasing; in the unit of the chart's x axis
  std::vector<double> y;  // as many as x; NaN and infinite values are gaps with a mark
  int color = 0;          // its number in the palette; beyond the last color the first follows
  Stroke stroke = Stroke::kSolid;
  bool faint = false;  // the values behind a smoothed curve
};

struct Chart {
  std::string title;  // "loss (nats per token)"
  AxisKind x_axis = AxisKind::kSteps;
  bool log = false;                  // the y axis; values of 0 or less are then not drawn
  bool x_log = false;                // REQUIRES: every x is above 0
  std::optional<AxisRange> x_range;  // absent: as the points
  std::vector<Curve> curves;
};

// The axes that fit all points. The y range is a little larger than that of the points that can be
// drawn. Both ranges have a non-zero width, also without any point.
struct ChartAxes {
  Axis x;
  Axis y;
};
ChartAxes AxesOf(const Chart& chart);

// Whether the value can be drawn on the y axis: it is finite, not absurdly large, and above 0 with
// `log`.
bool IsDrawable(double y, bool log);

// For each curve with points that are not drawn a line that says which: "tiny: nan from step 120 to
// step 131", "tiny: inf at step 7, and 3 more gaps up to step 90".
std::vector<std::string> MissingPointNotes(const Chart& chart);

}  // namespace gp::gpctl

// The range, the ticks and the tick texts of a chart's axis. Pure functions; thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace gp::gpctl {

enum class AxisKind {
  kNumber,
  kSteps,
  kTokens,
  kTime,  // seconds
};

struct AxisRange {
  double low = 0;
  double high = 1;

  bool operator==(const AxisRange&) const = default;
};

struct Axis {
  AxisRange range;
  AxisKind kind = AxisKind::kNumber;
  bool log = false;  // REQUIRES: range.low > 0

  // Where a value is between the ends of the axis: 0 at the low end, 1 at the high end.
  double PlaceOf(double value) const;
};

struct Tick {
  double value = 0;
  std::string text;
};

// Returns a range of non-zero width: moves equal ends apart.
AxisRange Widened(AxisRange range, bool log);

// At most `count_max` ticks inside the range, at round values whose texts differ. An axis with
// log has powers of ten, and 2 and 5 times them while there is room.
// REQUIRES: range.low < range.high.
std::vector<Tick> TicksOf(const Axis& axis, int count_max);

// "steps", "tokens", "time"; empty for kNumber.
std::string AxisName(AxisKind kind);

// A place on the axis in words: "step 1,200", "1.5M tokens", "2m10s".
std::string PlaceText(double x, AxisKind kind);

}  // namespace gp::gpctl

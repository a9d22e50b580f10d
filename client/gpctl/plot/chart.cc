#include "client/gpctl/plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text/counted_noun.h"
#include "base/text/thousands.h"
#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMargin = 0.04;  // of the y range, above and below

struct Extent {
  double low = kInfinity;
  double high = -kInfinity;

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

Range WithMargin(const Extent& extent, bool log) {
  if (extent.empty()) return log ? Range{1, 10} : Range{0, 1};
  const Range range = Widened({extent.low, extent.high}, log);
  if (log) {
    const double factor = std::pow(range.high / range.low, kMargin);
    return {range.low / factor, range.high * factor};
  }
  const double margin = (range.high - range.low) * kMargin;
  // Values that are never negative keep an axis that is not, either.
  const double low = range.low - margin;
  return {range.low >= 0 && low < 0 ? 0 : low, range.high + margin};
}

std::string PlaceText(double x, AxisKind kind) {
  switch (kind) {
    case AxisKind::kSteps:
      return "step " + WithThousands(std::llround(x));
    case AxisKind::kTokens:
      return CompactCount(x) + " tokens";
    case AxisKind::kTime:
      return DurationText(x);
    case AxisKind::kNumber:
      break;
  }
  return fmt::format("{}", x);
}

std::string NoteText(const Curve& curve, size_t first, AxisKind kind, const std::string& what) {
  return fmt::format("{}{}{} (the first: {:.4g} at {})", curve.label,
                     curve.label.empty() ? "" : ": ", what, curve.y[first],
                     PlaceText(curve.x[first], kind));
}

}  // namespace

bool IsDrawable(double y, bool log) { return std::isfinite(y) && (!log || y > 0); }

ChartAxes AxesOf(const Chart& chart) {
  Extent x;
  Extent y;
  for (const Curve& curve : chart.curves) {
    for (size_t i = 0; i < curve.x.size(); ++i) {
      // A gap belongs to the x axis, too: its mark is drawn there.
      x.Add(curve.x[i]);
      if (IsDrawable(curve.y[i], chart.log)) y.Add(curve.y[i]);
    }
  }
  ChartAxes axes;
  const Range x_range = x.empty() ? Range{0, 1} : Range{x.low, x.high};
  axes.x = {Widened(x_range, false), chart.x_axis, false};
  axes.y = {WithMargin(y, chart.log), AxisKind::kNumber, chart.log};
  return axes;
}

std::vector<std::string> MissingPointNotes(const Chart& chart) {
  std::vector<std::string> notes;
  for (const Curve& curve : chart.curves) {
    if (curve.faint) continue;
    const auto add = [&](auto is_missing, const std::string& what) {
      const auto found = std::find_if(curve.y.begin(), curve.y.end(), is_missing);
      if (found == curve.y.end()) return;
      notes.push_back(NoteText(curve, found - curve.y.begin(), chart.x_axis, what));
    };
    const auto not_finite = [](double y) { return !std::isfinite(y); };
    const int64_t count = std::max<int64_t>(
        curve.not_finite, std::count_if(curve.y.begin(), curve.y.end(), not_finite));
    add(not_finite,
        CountedNoun(count, "point") + (count == 1 ? " is not finite" : " are not finite"));
    add([&](double y) { return std::isfinite(y) && !IsDrawable(y, chart.log); },
        "values of 0 or less are not on the logarithmic axis");
  }
  return notes;
}

}  // namespace gp::gpctl

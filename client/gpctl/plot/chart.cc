#include "client/gpctl/plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text/counted_noun.h"

namespace gp::gpctl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = 1e300;  // differences of such values are still finite
constexpr double kMargin = 0.04;    // of the y range, above and below

struct Extent {
  double low = kInfinity;
  double high = -kInfinity;

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

AxisRange WithMargin(const Extent& extent, bool log) {
  if (extent.empty()) return log ? AxisRange{1, 10} : AxisRange{0, 1};
  const AxisRange range = Widened({extent.low, extent.high}, log);
  if (log) {
    const double factor = std::exp((std::log(range.high) - std::log(range.low)) * kMargin);
    return {std::max(range.low / factor, std::numeric_limits<double>::min()),
            std::min(range.high * factor, std::numeric_limits<double>::max())};
  }
  const double margin = (range.high - range.low) * kMargin;
  // If no value is negative, the axis does not extend below 0.
  const double low = range.low - margin;
  return {range.low >= 0 && low < 0 ? 0 : low, range.high + margin};
}

struct Stretch {
  size_t first = 0;
  size_t last = 0;
};

// The stretches of neighbouring points for which `is_missing` is true.
template <typename Test>
std::vector<Stretch> FindStretches(const std::vector<double>& y, Test is_missing) {
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < y.size(); ++i) {
    if (!is_missing(y[i])) continue;
    if (stretches.empty() || stretches.back().last + 1 < i) stretches.push_back({i, i});
    stretches.back().last = i;
  }
  return stretches;
}

// "nan" or "inf" if all values of the gaps are the same, otherwise "not finite".
std::string GapText(const Curve& curve, const std::vector<Stretch>& gaps) {
  const std::string first = fmt::format("{:.4g}", curve.y[gaps.front().first]);
  for (const Stretch& gap : gaps) {
    for (size_t i = gap.first; i <= gap.last; ++i) {
      if (fmt::format("{:.4g}", curve.y[i]) != first) return "not finite";
    }
  }
  return first;
}

// REQUIRES: at least one stretch.
std::string PlacesText(const Curve& curve, const std::vector<Stretch>& stretches, AxisKind kind) {
  const auto place = [&](size_t i) { return PlaceText(curve.x[i], kind); };
  const auto [first, last] = stretches.front();
  std::string text = first == last ? "at " + place(first)
                                   : fmt::format("from {} to {}", place(first), place(last));
  if (stretches.size() == 1) return text;
  return fmt::format("{}, and {} up to {}", text,
                     CountedNoun(static_cast<int64_t>(stretches.size()) - 1, "more gap"),
                     place(stretches.back().last));
}

}  // namespace

bool IsDrawable(double y, bool log) { return std::fabs(y) <= kLargest && (!log || y > 0); }

ChartAxes AxesOf(const Chart& chart) {
  Extent x;
  Extent y;
  for (const Curve& curve : chart.curves) {
    for (size_t i = 0; i < curve.x.size(); ++i) {
      // Gaps extend the x range, too, because their marks are drawn there.
      x.Add(curve.x[i]);
      if (IsDrawable(curve.y[i], chart.log)) y.Add(curve.y[i]);
    }
  }
  ChartAxes axes;
  const AxisRange x_range =
      chart.x_range.value_or(x.empty() ? AxisRange{0, 1} : AxisRange{x.low, x.high});
  axes.x = {Widened(x_range, chart.x_log), chart.x_axis, chart.x_log};
  axes.y = {WithMargin(y, chart.log), AxisKind::kNumber, chart.log};
  return axes;
}

std::vector<std::string> MissingPointNotes(const Chart& chart) {
  std::vector<std::string> notes;
  for (const Curve& curve : chart.curves) {
    if (curve.faint) continue;
    const std::string name = curve.label.empty() ? "" : curve.label + ": ";
    const auto gaps = FindStretches(curve.y, [](double y) { return !IsDrawable(y, false); });
    if (!gaps.empty()) {
      notes.push_back(fmt::format("{}{} {}", name, GapText(curve, gaps),
                                  PlacesText(curve, gaps, chart.x_axis)));
    }
    if (!chart.log) continue;
    const auto low =
        FindStretches(curve.y, [](double y) { return IsDrawable(y, false) && y <= 0; });
    if (!low.empty()) {
      notes.push_back(fmt::format("{}0 or less, so not on the logarithmic axis, {}", name,
                                  PlacesText(curve, low, chart.x_axis)));
    }
  }
  return notes;
}

}  // namespace gp::gpctl

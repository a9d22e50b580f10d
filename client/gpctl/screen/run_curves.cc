#include "client/gpctl/screen/run_curves.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/text/thousands.h"
#include "client/gpctl/plot/smoothing.h"
#include "client/gpctl/plot/terminal_chart.h"

namespace gp::gpctl {
namespace {

// Runs of fewer steps are shown from the first one on.
constexpr double kSettledMin = 500;
// Fewer points are drawn as they are.
constexpr size_t kSmoothedMin = 120;
// The share of the points that a smoothed value is a mean of.
constexpr size_t kSmoothingShare = 40;

Curve CurveOf(const ThinnedCurve& points, const std::string& label, int color) {
  Curve curve{.label = label, .color = color};
  for (const ThinnedCurve::Point& point : points.points()) {
    curve.x.push_back(static_cast<double>(point.step));
    curve.y.push_back(point.value);
  }
  return curve;
}

// The first step of the span of a run whose newest step is `newest`.
double FirstStep(CurveSpan span, double newest) {
  switch (span) {
    case CurveSpan::kSettled:
      return newest < kSettledMin ? 0 : std::floor(0.04 * newest);
    case CurveSpan::kLastHalf:
      return 0.5 * newest;
    case CurveSpan::kLastTenth:
      return 0.9 * newest;
    case CurveSpan::kAll:
      break;
  }
  return 0;
}

std::string SpanText(CurveSpan span, double first) {
  if (span == CurveSpan::kLastHalf) return ", last half";
  if (span == CurveSpan::kLastTenth) return ", last tenth";
  return first > 0 ? ", from step " + WithThousands(static_cast<int64_t>(first)) : "";
}

// Leaves out the steps before `first`.
void CutBefore(double first, Curve& curve) {
  const auto begin = std::lower_bound(curve.x.begin(), curve.x.end(), first) - curve.x.begin();
  curve.x.erase(curve.x.begin(), curve.x.begin() + begin);
  curve.y.erase(curve.y.begin(), curve.y.begin() + begin);
}

// The curve; if it has many points, a smoothed curve drawn over the single values.
std::vector<Curve> WithSmoothing(Curve curve) {
  if (curve.y.size() < kSmoothedMin) return {std::move(curve)};
  Curve steps = curve;
  steps.faint = true;
  if (!curve.label.empty()) curve.label += ", smoothed";
  curve.y = Smoothed(curve.y, static_cast<int>(curve.y.size() / kSmoothingShare));
  return {std::move(curve), std::move(steps)};
}

std::vector<ScreenLine> Drawn(Chart chart, int width, int rows, const CurveStyle& style) {
  double newest = 0;
  for (const Curve& curve : chart.curves) {
    if (!curve.x.empty()) newest = std::max(newest, curve.x.back());
  }
  const double first = FirstStep(style.span, newest);
  for (Curve& curve : chart.curves) CutBefore(first, curve);
  chart.title += SpanText(style.span, first);
  std::vector<ScreenLine> lines;
  for (const std::string& line :
       DrawChart(chart, {.columns = width, .rows = rows}, {style.text.utf8, style.text.color})) {
    lines.push_back(ScreenLine::OfColored(line));
  }
  return lines;
}

std::vector<ScreenLine> OneCurve(const std::string& title, const ThinnedCurve& points, int color,
                                 int width, int rows, const CurveStyle& style) {
  if (points.points().empty()) return {};
  return Drawn({.title = title, .curves = WithSmoothing(CurveOf(points, "", color))}, width, rows,
               style);
}

// The first steps of these curves do not hide what follows.
CurveStyle FromStart(CurveStyle style) {
  if (style.span == CurveSpan::kSettled) style.span = CurveSpan::kAll;
  return style;
}

}  // namespace

CurveSpan NextSpan(CurveSpan span) {
  return span == CurveSpan::kAll ? CurveSpan::kSettled
                                 : static_cast<CurveSpan>(static_cast<int>(span) + 1);
}

std::vector<ScreenLine> LossChart(const RunCurves& curves, int width, int rows,
                                  const CurveStyle& style) {
  Chart chart{.title = "loss (nats per token)"};
  Curve train = CurveOf(curves.loss, "training", 0);
  if (train.y.empty()) return {};
  chart.curves = WithSmoothing(std::move(train));
  if (!curves.validation.points().empty()) {
    chart.curves.insert(chart.curves.begin(), CurveOf(curves.validation, "validation", 1));
  }
  return Drawn(std::move(chart), width, rows, style);
}

std::vector<ScreenLine> SpeedChart(const RunCurves& curves, int width, int rows,
                                   const CurveStyle& style) {
  return OneCurve("tokens per second", curves.tokens_per_second, 2, width, rows, FromStart(style));
}

std::vector<ScreenLine> GradientNormChart(const RunCurves& curves, int width, int rows,
                                          const CurveStyle& style) {
  return OneCurve("gradient norm", curves.gradient_norm, 3, width, rows, style);
}

std::vector<ScreenLine> LearningRateChart(const RunCurves& curves, int width, int rows,
                                          const CurveStyle& style) {
  return OneCurve("learning rate", curves.learning_rate, 5, width, rows, FromStart(style));
}

}  // namespace gp::gpctl

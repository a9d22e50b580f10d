#include "client/gpctl/commands/results/equal_place.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gp::gpctl {
namespace {

// The number of points up to `place`. Points are in the order of their steps; by a clock that was
// set back, seconds may fall, which then counts as the same time.
int CountUpTo(const v1::CurvePoints& curve, double place, AxisKind kind) {
  int count = 0;
  while (count < curve.steps_size() && PlaceOf(curve, count, kind) <= place) ++count;
  return count;
}

}  // namespace

double PlaceOf(const v1::CurvePoints& curve, int index, AxisKind kind) {
  switch (kind) {
    case AxisKind::kTokens:
      return static_cast<double>(curve.tokens(index));
    case AxisKind::kTime:
      return curve.seconds(index);
    default:
      return static_cast<double>(curve.steps(index));
  }
}

std::optional<double> CommonEnd(const std::vector<const v1::CurvePoints*>& curves, AxisKind kind) {
  std::optional<double> end;
  for (const v1::CurvePoints* curve : curves) {
    if (curve->steps_size() == 0) return std::nullopt;
    const double last = PlaceOf(*curve, curve->steps_size() - 1, kind);
    end = std::min(end.value_or(last), last);
  }
  return end;
}

std::optional<int64_t> CommonStep(const std::vector<const v1::CurvePoints*>& curves) {
  if (curves.empty()) return std::nullopt;
  const auto& steps = curves.front()->steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const bool common = std::all_of(curves.begin(), curves.end(), [&](const auto* curve) {
      return std::binary_search(curve->steps().begin(), curve->steps().end(), *step);
    });
    if (common) return *step;
  }
  return std::nullopt;
}

std::optional<double> ValueAt(const v1::CurvePoints& curve, double place, AxisKind kind) {
  const int count = CountUpTo(curve, place, kind);
  if (count == 0) return std::nullopt;
  const double before = PlaceOf(curve, count - 1, kind);
  if (before == place) return curve.values(count - 1);
  if (count == curve.steps_size()) return std::nullopt;
  const double share = (place - before) / (PlaceOf(curve, count, kind) - before);
  return curve.values(count - 1) + share * (curve.values(count) - curve.values(count - 1));
}

std::optional<double> MeanBefore(const v1::CurvePoints& curve, double place, AxisKind kind,
                                 int count) {
  const int end = CountUpTo(curve, place, kind);
  const int begin = std::max(0, end - count);
  if (begin == end) return std::nullopt;
  double sum = 0;
  for (int i = begin; i < end; ++i) sum += curve.values(i);
  return std::isfinite(sum) ? sum / (end - begin) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace gp::gpctl

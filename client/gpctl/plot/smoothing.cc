#include "client/gpctl/plot/smoothing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace gp::gpctl {

std::vector<double> Smoothed(const std::vector<double>& values, int window) {
  // Prefix sums of the finite values, and their counts.
  std::vector<double> sums(values.size() + 1);
  std::vector<size_t> counts(values.size() + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool finite = std::isfinite(values[i]);
    sums[i + 1] = sums[i] + (finite ? values[i] : 0);
    counts[i + 1] = counts[i] + (finite ? 1 : 0);
  }
  std::vector<double> smoothed = values;
  const size_t reach = static_cast<size_t>(std::max(window, 1)) / 2;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    const size_t around = std::min({reach, i, values.size() - 1 - i});
    const size_t begin = i - around;
    const size_t end = i + around + 1;
    smoothed[i] = (sums[end] - sums[begin]) / static_cast<double>(counts[end] - counts[begin]);
  }
  return smoothed;
}

Curve Thinned(Curve curve, size_t points_max) {
  const size_t count = curve.x.size();
  if (count <= points_max || points_max < 4) return curve;
  const size_t stretches = points_max / 2;
  std::vector<double> x;
  std::vector<double> y;
  const auto keep = [&](size_t i) {
    x.push_back(curve.x[i]);
    y.push_back(curve.y[i]);
  };
  keep(0);
  for (size_t stretch = 0; stretch < stretches; ++stretch) {
    const size_t begin = 1 + (count - 2) * stretch / stretches;
    const size_t end = 1 + (count - 2) * (stretch + 1) / stretches;
    std::optional<size_t> lowest;
    std::optional<size_t> highest;
    std::optional<size_t> first_gap;
    std::optional<size_t> last_gap;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(curve.y[i])) {
        if (!first_gap) first_gap = i;
        last_gap = i;
        continue;
      }
      if (!lowest || curve.y[i] < curve.y[*lowest]) lowest = i;
      if (!highest || curve.y[i] >= curve.y[*highest]) highest = i;
    }
    std::vector<size_t> kept;
    for (const auto& one : {lowest, highest, first_gap, last_gap}) {
      if (one) kept.push_back(*one);
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const size_t i : kept) keep(i);
  }
  keep(count - 1);
  curve.x = std::move(x);
  curve.y = std::move(y);
  return curve;
}

}  // namespace gp::gpctl

#include "client/gpctl/render/thinned_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gp::gpctl {
namespace {

// A value that is not finite is an extreme, so that it stays visible.
double Height(const ThinnedCurve::Point& point) {
  return std::isnan(point.value) ? HUGE_VAL : point.value;
}

}  // namespace

void ThinnedCurve::Add(int64_t step, double value) {
  CutFrom(step);
  points_.push_back({step, value});
  if (points_.size() >= points_max_) Thin();
}

void ThinnedCurve::CutFrom(int64_t step) {
  while (!points_.empty() && points_.back().step >= step) points_.pop_back();
}

void ThinnedCurve::Thin() {
  std::vector<Point> kept;
  for (size_t begin = 0; begin < points_.size(); begin += 4) {
    const auto first = points_.begin() + static_cast<ptrdiff_t>(begin);
    const auto end = first + static_cast<ptrdiff_t>(std::min<size_t>(4, points_.size() - begin));
    auto [low, high] = std::minmax_element(
        first, end, [](const Point& a, const Point& b) { return Height(a) < Height(b); });
    if (high < low) std::swap(low, high);
    kept.push_back(*low);
    if (high != low) kept.push_back(*high);
  }
  if (kept.back().step != points_.back().step) kept.push_back(points_.back());
  points_ = std::move(kept);
}

}  // namespace gp::gpctl

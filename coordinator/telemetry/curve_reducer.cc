#include "coordinator/telemetry/curve_reducer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/check.h"

namespace gp::coordinator {

CurveReducer::CurveReducer(size_t points_max) : stretches_max_((points_max + 1) / 2) {
  GP_CHECK(points_max >= 2);
}

void CurveReducer::Stretch::Add(const Numbered& one) {
  const double value = one.point.value;
  if (!std::isfinite(value)) {
    if (!first_not_finite) first_not_finite = one;
    last_not_finite = one;
    return;
  }
  if (!lowest || value < lowest->point.value) lowest = one;
  // Of equal values the last, so that a flat stretch keeps both of its ends.
  if (!highest || value >= highest->point.value) highest = one;
}

void CurveReducer::Stretch::Append(const Stretch& next) {
  for (const auto& one : {next.lowest, next.highest, next.first_not_finite, next.last_not_finite}) {
    if (one) Add(*one);
  }
}

void CurveReducer::Add(const CurvePoint& point) {
  const Numbered one{count_, point};
  if (!first_) first_ = one;
  last_ = one;
  if (count_ % points_per_stretch_ == 0) {
    if (stretches_.size() == stretches_max_) JoinPairs();
    // Joining makes stretches longer, so the last one may have room again.
    if (count_ % points_per_stretch_ == 0) stretches_.emplace_back();
  }
  stretches_.back().Add(one);
  ++count_;
}

void CurveReducer::JoinPairs() {
  size_t joined = 0;
  for (size_t i = 0; i < stretches_.size(); i += 2) {
    if (i != joined) stretches_[joined] = stretches_[i];
    if (i + 1 < stretches_.size()) stretches_[joined].Append(stretches_[i + 1]);
    ++joined;
  }
  stretches_.resize(joined);
  points_per_stretch_ *= 2;
}

std::vector<CurvePoint> CurveReducer::Points() const {
  std::map<int64_t, CurvePoint> kept;
  const auto keep = [&kept](const std::optional<Numbered>& one) {
    if (one) kept.emplace(one->index, one->point);
  };
  keep(first_);
  keep(last_);
  for (const Stretch& stretch : stretches_) {
    for (const auto& one :
         {stretch.lowest, stretch.highest, stretch.first_not_finite, stretch.last_not_finite}) {
      keep(one);
    }
  }
  std::vector<CurvePoint> points;
  points.reserve(kept.size());
  for (const auto& [index, point] : kept) points.push_back(point);
  return points;
}

}  // namespace gp::coordinator

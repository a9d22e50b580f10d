#include "coordinator/telemetry/shown_points.h"

#include <algorithm>

namespace gp::coordinator {

ShownPoints::ShownPoints(const std::vector<EpochStart>& epochs) {
  int64_t taken_from = INT64_MAX;
  for (auto it = epochs.rbegin(); it != epochs.rend(); ++it) {
    until_[it->epoch] = taken_from;
    taken_from = std::min(taken_from, it->first_step);
  }
}

bool ShownPoints::Shows(const contract::TrainingPoint& point) const {
  const auto until = until_.find(point.epoch);
  return until == until_.end() || point.step < until->second;
}

}  // namespace gp::coordinator

// ShownPoints: selects the points to show of a run whose epochs have repeated steps
// (docs/adr/0013-a-run-is-a-list-of-legs.md). Points of an epoch are shown up to the first step
// that a newer epoch took; from that step on the newer epoch's points replace them. A value;
// thread-safe once made.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "contract/training_point.h"
#include "coordinator/state/ids.h"
#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {

class ShownPoints {
 public:
  // `epochs` in their order, as in Progress::epochs.
  explicit ShownPoints(const std::vector<EpochStart>& epochs);

  // Also true for points of an epoch that is not in `epochs`.
  bool Shows(const contract::TrainingPoint& point) const;

 private:
  std::map<Epoch, int64_t> until_;  // by epoch, the first step that a newer epoch took
};

}  // namespace gp::coordinator

// ShownPoints: which points of a run count once its ranks have taken steps again
// (docs/adr/0013-a-run-is-a-list-of-legs.md): of every step, the point of the newest epoch that
// reached it, and no point of an older epoch at or after the step where a newer one began. A value;
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

  // True for an epoch that has committed nothing yet.
  bool Shows(const contract::TrainingPoint& point) const;

 private:
  std::map<Epoch, int64_t> until_;  // by epoch, the first step that a newer epoch took
};

}  // namespace gp::coordinator

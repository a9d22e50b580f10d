// SaveTimes: how long a trainer's checkpoints take: from the StepReport of the saved step to the
// CheckpointReport, which says that all files are synced. Belongs to one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace gp::agent {

// The known costs of a checkpoint.
struct SaveCost {
  std::optional<double> blocking_seconds;    // time in which its rank took no step
  std::optional<double> background_seconds;  // from the saved step until all files are synced
  uint64_t size_bytes = 0;
};

class SaveTimes {
 public:
  void StepCommitted(int64_t step, MonotonicTime at);
  // The seconds since that step was committed; nullopt when that is more than 4096 steps ago, or
  // when the agent did not see the step.
  std::optional<double> Written(int64_t step, MonotonicTime at) const;

 private:
  std::deque<std::pair<int64_t, MonotonicTime>> steps_;  // the newest ones
};

}  // namespace gp::agent

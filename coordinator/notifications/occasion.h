// Occasion: what a person may be notified of. OccasionOf decides which events of the log are
// occasions; a long wait is not an event and is found by WaitingRuns. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/state/event.h"
#include "coordinator/state/run.h"

namespace gp::coordinator {

enum class Occasion {
  kFinished = 0,
  kFailed = 1,
  kDiverged = 2,
  kStalled = 3,
  kNewBest = 4,
  kWaiting = 5,
};

// "finished", "failed", "diverged", "stalled", "new_best", "waiting": by their number.
const std::vector<std::string>& OccasionNames();
std::string_view Name(Occasion occasion);

// Whether events of this kind can be occasions, whatever their run is.
bool MayBeOccasion(const Event& event);

// The occasion that a durable event of a run is; nullopt if it is none. `run` is the run at the
// event or at any later time, so the answer does not depend on when the log is read.
std::optional<Occasion> OccasionOf(const Event& event, const Run& run);

}  // namespace gp::coordinator

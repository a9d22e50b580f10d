// The result of a trial of a sweep, read from its run. Losses are those of the run's sealed
// checkpoints: only they are durable, so a restart of the coordinator decides the same. Pure;
// thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

enum class TrialState {
  kWaiting = 1,    // not submitted yet
  kLive = 2,       // its run has not ended
  kDone = 3,       // it trained to the end of its budget
  kStopped = 4,    // the sweep cancelled it because it lost
  kFailed = 5,     // its run failed
  kCancelled = 6,  // a user cancelled it
  kDeleted = 7,    // its run was deleted
};

struct TrialLoss {
  int64_t step = 0;
  double loss = 0;  // finite
};

struct TrialResult {
  TrialState state = TrialState::kWaiting;
  std::shared_ptr<const Run> run;  // null: not submitted yet, or deleted
  std::optional<TrialLoss> best;   // the lowest validation loss; the later one of equals
  bool diverged = false;           // it was evaluated, and every loss was NaN or infinite
};

TrialResult ResultOf(const Cluster& cluster, const SweepTrial& trial);

// The lowest finite validation loss up to `step`.
std::optional<TrialLoss> BestUpTo(const Run& run, int64_t step);

// The newest step that was evaluated; -1: none.
int64_t LastEvaluatedStep(const Run& run);

// The validation loss at exactly this step; NaN and infinity become infinity. Absent: the run was
// not evaluated there.
std::optional<double> LossAt(const Run& run, int64_t step);

}  // namespace gp::coordinator

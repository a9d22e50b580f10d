#include "coordinator/scheduler/trial_result.h"

#include <cmath>
#include <limits>

namespace gp::coordinator {
namespace {

TrialState StateOf(const Run& run) {
  switch (run.state) {
    case RunState::kSucceeded:
      return TrialState::kDone;
    case RunState::kFailed:
      return TrialState::kFailed;
    case RunState::kCancelled:
      return run.cancel_reason.empty() ? TrialState::kCancelled : TrialState::kStopped;
    default:
      return TrialState::kLive;
  }
}

bool WasEvaluated(const Run& run) {
  for (const SealedCheckpoint& sealed : run.checkpoints) {
    if (sealed.validation_loss) return true;
  }
  return false;
}

}  // namespace

TrialResult ResultOf(const Cluster& cluster, const SweepTrial& trial) {
  TrialResult result;
  result.run = cluster.FindRun(trial.run);
  if (result.run == nullptr) {
    const bool deleted = cluster.FindDeleted(trial.run) != nullptr;
    const bool faulty = cluster.faulty.contains(trial.run);
    if (deleted) result.state = TrialState::kDeleted;
    if (faulty) result.state = TrialState::kFailed;
    return result;
  }
  result.state = StateOf(*result.run);
  result.best = BestUpTo(*result.run, std::numeric_limits<int64_t>::max());
  result.diverged = !result.best && WasEvaluated(*result.run);
  return result;
}

std::optional<TrialLoss> BestUpTo(const Run& run, int64_t step) {
  std::optional<TrialLoss> best;
  for (const SealedCheckpoint& sealed : run.checkpoints) {
    const std::optional<double>& loss = sealed.validation_loss;
    if (sealed.step > step || !loss || !std::isfinite(*loss)) continue;
    if (!best || *loss <= best->loss) best = {sealed.step, *loss};
  }
  return best;
}

int64_t LastEvaluatedStep(const Run& run) {
  int64_t last = -1;
  for (const SealedCheckpoint& sealed : run.checkpoints) {
    if (sealed.validation_loss) last = sealed.step;
  }
  return last;
}

std::optional<double> LossAt(const Run& run, int64_t step) {
  const SealedCheckpoint* sealed = run.FindCheckpoint(step);
  if (sealed == nullptr || !sealed->validation_loss) return std::nullopt;
  const double loss = *sealed->validation_loss;
  return std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity();
}

}  // namespace gp::coordinator

#include "coordinator/state/run.h"

namespace gp::coordinator {

const SealedCheckpoint* Run::LatestCheckpoint() const {
  for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
    if (!it->retired) return &*it;
  }
  return nullptr;
}

const SealedCheckpoint* Run::CheckpointBefore(int64_t step) const {
  for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
    if (!it->retired && it->step < step) return &*it;
  }
  return nullptr;
}

const SealedCheckpoint* Run::BestCheckpoint() const {
  const SealedCheckpoint* best = nullptr;
  for (const SealedCheckpoint& checkpoint : checkpoints) {
    if (checkpoint.retired || !checkpoint.validation_loss) continue;
    if (best == nullptr || *checkpoint.validation_loss <= *best->validation_loss)
      best = &checkpoint;
  }
  return best;
}

const SealedCheckpoint* Run::FindCheckpoint(int64_t step) const {
  for (const SealedCheckpoint& checkpoint : checkpoints) {
    if (checkpoint.step == step) return &checkpoint;
  }
  return nullptr;
}

bool SumsOnGpus(const Run& run) { return run.device == Device::kGpu && run.placement.size() > 1; }

}  // namespace gp::coordinator

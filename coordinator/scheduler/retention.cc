#include "coordinator/scheduler/retention.h"

#include <algorithm>

namespace gp::coordinator {

void PlanRetention(const Run& run, Plan& plan) {
  // At least two checkpoints stay: if the newest is damaged, the run resumes from the one before.
  const int kept_count = std::max(2, run.submission->keep_last);
  const SealedCheckpoint* best = run.submission->keep_best ? run.BestCheckpoint() : nullptr;
  int newer = 0;
  for (auto it = run.checkpoints.rbegin(); it != run.checkpoints.rend(); ++it) {
    if (it->retired || it->restored) continue;
    const bool kept = newer < kept_count || &*it == best;
    ++newer;
    if (kept) continue;
    plan.push_back({run.id, CheckpointRetired{it->step, it->directory}, "scheduler",
                    fmt::format("step {}: {} newer ones are kept", it->step, newer - 1)});
  }
}

}  // namespace gp::coordinator

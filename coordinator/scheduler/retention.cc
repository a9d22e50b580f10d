#include "coordinator/scheduler/retention.h"

#include <algorithm>
#include <set>

namespace gp::coordinator {
namespace {

// The steps that checkpoint.keep_every keeps: the first checkpoint at or after each multiple of
// `every` steps.
std::set<int64_t> LadderOf(const Run& run, int64_t every) {
  std::set<int64_t> ladder;
  int64_t rung = 0;
  for (const SealedCheckpoint& checkpoint : run.checkpoints) {
    if (every <= 0 || checkpoint.step / every <= rung) continue;
    rung = checkpoint.step / every;
    ladder.insert(checkpoint.step);
  }
  return ladder;
}

}  // namespace

void PlanRetention(const Cluster& cluster, const Run& run, Plan& plan) {
  // At least two checkpoints stay: if the newest is damaged, the run resumes from the one before.
  const int kept_count = std::max(2, run.submission->keep_last);
  const SealedCheckpoint* best = run.submission->keep_best ? run.BestCheckpoint() : nullptr;
  const std::set<int64_t> ladder = LadderOf(run, run.submission->keep_every);
  int newer = 0;
  for (auto it = run.checkpoints.rbegin(); it != run.checkpoints.rend(); ++it) {
    if (it->retired || it->restored) continue;
    const bool kept = newer < kept_count || &*it == best || ladder.contains(it->step);
    ++newer;
    if (kept || cluster.awaited_models.contains(it->directory)) continue;
    plan.push_back({run.id, CheckpointRetired{it->step, it->directory}, "scheduler"});
  }
}

}  // namespace gp::coordinator

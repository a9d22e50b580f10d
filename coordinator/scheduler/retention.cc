#include "coordinator/scheduler/retention.h"

#include <algorithm>
#include <set>
#include <utility>

#include "coordinator/state/initial_model.h"

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

// The checkpoints of a run that a prune keeps, whatever their age.
class KeptCheckpoints {
 public:
  KeptCheckpoints(const Cluster& cluster, const Run& run)
      : cluster_(cluster), best_(run.BestCheckpoint()) {
    for (const RunId& child : cluster.ChildrenOf(run.id)) {
      const Submission& submission = *cluster.FindRun(child)->submission;
      forked_.emplace(submission.parent_leg, submission.parent_step);
    }
    if (IsTerminal(run.state)) return;
    used_ = {run.resume_step, run.leg.first_step};
    if (run.next_leg && run.next_leg->first_step) used_.insert(*run.next_leg->first_step);
    if (run.suspicion) used_.insert(run.suspicion->step);
  }

  bool Has(const SealedCheckpoint& one) const {
    return one.retired || one.pinned || one.restored || &one == best_ || used_.contains(one.step) ||
           forked_.contains({one.leg, one.step}) || cluster_.awaited_models.contains(one.directory);
  }

 private:
  const Cluster& cluster_;
  const SealedCheckpoint* best_;
  std::set<std::pair<int, int64_t>> forked_;  // leg and step from which other runs began
  std::set<int64_t> used_;                    // by the live run itself
};

// Whether a run that has ended began from the checkpoint and would begin from it again.
bool IsBaseOfEnded(const Cluster& cluster, const Run& run, const SealedCheckpoint& checkpoint) {
  const std::set<RunId> children = cluster.ChildrenOf(run.id);
  return std::ranges::any_of(children, [&](const RunId& id) {
    const auto child = cluster.FindRun(id);
    const Submission& submission = *child->submission;
    return submission.parent_leg == checkpoint.leg && submission.parent_step == checkpoint.step &&
           MayBeginAgain(*child);
  });
}

}  // namespace

void PlanRetention(const Cluster& cluster, const Run& run, Plan& plan) {
  // At least two checkpoints stay: if the newest is damaged, the run resumes from the one before.
  const int kept_count = std::max(2, run.submission->keep_last);
  const SealedCheckpoint* best = run.submission->keep_best ? run.BestCheckpoint() : nullptr;
  const std::set<int64_t> ladder = LadderOf(run, run.submission->keep_every);
  int newer = 0;
  for (auto it = run.checkpoints.rbegin(); it != run.checkpoints.rend(); ++it) {
    if (it->retired || it->restored || it->pinned) continue;
    const bool kept = newer < kept_count || &*it == best || ladder.contains(it->step);
    ++newer;
    if (kept || cluster.awaited_models.contains(it->directory)) continue;
    if (IsBaseOfEnded(cluster, run, *it)) continue;
    plan.push_back({run.id, CheckpointRetired{it->step, it->directory}, "scheduler"});
  }
}

std::vector<CheckpointKey> PrunableCheckpoints(const Cluster& cluster, const Run& run,
                                               int keep_last) {
  // A live run keeps two: if the newest is damaged, it resumes from the one before.
  const int kept_count = std::max(IsTerminal(run.state) ? 1 : 2, keep_last);
  const KeptCheckpoints kept(cluster, run);
  std::vector<CheckpointKey> prunable;
  const auto take_beyond = [&](int count, const std::vector<SealedCheckpoint>& sealed) {
    int newer = 0;
    for (auto it = sealed.rbegin(); it != sealed.rend(); ++it) {
      if (it->retired) continue;
      const bool is_recent = newer++ < count;
      if (!is_recent && !kept.Has(*it)) prunable.push_back({it->step, it->epoch});
    }
  };
  take_beyond(kept_count, run.checkpoints);
  // A leg that began again at the start may have none yet: then the newest are of an earlier leg.
  take_beyond(run.LatestCheckpoint() == nullptr ? kept_count : 0, run.superseded);
  std::ranges::sort(prunable, {},
                    [](const CheckpointKey& one) { return std::pair(one.step, one.epoch); });
  return prunable;
}

}  // namespace gp::coordinator

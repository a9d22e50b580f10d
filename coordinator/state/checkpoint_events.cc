#include "coordinator/state/checkpoint_events.h"

#include <algorithm>
#include <utility>

namespace gp::coordinator {
namespace {

// The run, if its checkpoint of `step` is the suspected one.
StatusOr<Run> Suspected(int64_t step, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (IsTerminal(run.state)) return change.Impossible("the run has ended");
  if (run.suspicion && run.suspicion->step == step) return run;
  return change.Impossible(
      fmt::format("no rank reported its checkpoint of step {} as damaged", step));
}

void Quarantine(int64_t step, const std::string& reason, Timestamp at, Run& run) {
  for (auto it = run.checkpoints.begin(); it != run.checkpoints.end();) {
    if (it->step != step) {
      ++it;
      continue;
    }
    run.quarantined.push_back({std::move(*it), reason, at});
    it = run.checkpoints.erase(it);
  }
}

Status LoseSuperseded(const CheckpointDamaged& lost, RunChange& change, Run run) {
  const auto it =
      std::find_if(run.superseded.begin(), run.superseded.end(), [&](const SealedCheckpoint& one) {
        return one.step == lost.step && one.epoch == lost.epoch;
      });
  if (it == run.superseded.end()) return change.Impossible("no superseded checkpoint is this one");
  run.quarantined.push_back(
      {std::move(*it), lost.reason, change.event().at, /*lost=*/true, /*superseded=*/true});
  run.superseded.erase(it);
  change.Save(std::move(run));
  return OkStatus();
}

// Moves a checkpoint whose directory is gone to `quarantined`. Running ranks continue to train.
Status ApplyLoss(const CheckpointDamaged& lost, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (lost.epoch != 0) return LoseSuperseded(lost, change, std::move(run));
  if (run.FindCheckpoint(lost.step) == nullptr) {
    return change.Impossible("no checkpoint of that step is sealed");
  }
  Quarantine(lost.step, lost.reason, change.event().at, run);
  run.quarantined.back().lost = true;
  if (run.suspicion && run.suspicion->step == lost.step) run.suspicion.reset();
  change.Save(std::move(run));
  return OkStatus();
}

// Another run could not begin from the checkpoint, and the coordinator found it damaged, too. Ranks
// of the run, if it still trains, do not need it.
Status ApplyForeignReport(const CheckpointDamaged& damaged, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  const SealedCheckpoint* found = FindSealed(run, {damaged.step, damaged.epoch});
  if (found == nullptr || found->retired) {
    return change.Impossible("no checkpoint of that step and epoch is sealed");
  }
  for (auto* sealed : {&run.checkpoints, &run.superseded}) {
    const auto it = std::find_if(sealed->begin(), sealed->end(),
                                 [&](const SealedCheckpoint& one) { return &one == found; });
    if (it == sealed->end()) continue;
    const bool superseded = sealed == &run.superseded;
    if (!superseded && run.suspicion && run.suspicion->step == damaged.step) run.suspicion.reset();
    run.quarantined.push_back({std::move(*it), damaged.reason, change.event().at,
                               /*lost=*/false, superseded});
    sealed->erase(it);
    break;
  }
  change.Save(std::move(run));
  return OkStatus();
}

// The newest of a step stays the last one of that step.
void InsertByEpoch(SealedCheckpoint checkpoint, std::vector<SealedCheckpoint>& to) {
  const auto place = std::find_if(to.begin(), to.end(), [&](const SealedCheckpoint& other) {
    return other.epoch > checkpoint.epoch;
  });
  to.insert(place, std::move(checkpoint));
}

}  // namespace

void ApplyDamageReport(const RankFailed& failed, Run& run) {
  const SealedCheckpoint* newest = run.LatestCheckpoint();
  if (newest == nullptr || newest->step != run.resume_step) {
    ++run.failures_since_seal;
    return;
  }
  const NodeId& node = run.placement.at(static_cast<size_t>(failed.rank)).node;
  if (!run.suspicion || run.suspicion->step != run.resume_step) {
    run.suspicion = Suspicion{.step = run.resume_step};
  }
  Suspicion& suspicion = *run.suspicion;
  const bool is_news = suspicion.told_by.insert(node).second && !suspicion.whole;
  if (!is_news) ++run.failures_since_seal;
  suspicion.asks_coordinator = failed.next_reader == NextReader::kCoordinator;
  suspicion.verdict.reset();
  run.doubtful_nodes.insert(node);
}

Status ApplyBody(const CheckpointSealed& sealed, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Current(sealed.epoch));
  if (sealed.leg != run.leg.number) return change.Impossible("its leg is not the newest one");
  const contract::WrittenCheckpoint& written = sealed.checkpoint;
  if (!run.checkpoints.empty() && run.checkpoints.back().step >= written.step) {
    return change.Impossible("a checkpoint of that step or a later one is sealed");
  }
  run.checkpoints.push_back({written, sealed.epoch, change.event().at, sealed.leg});
  run.failures_since_seal = 0;
  run.suspicion.reset();
  change.Touch(run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const CheckpointRetired& retired, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  for (SealedCheckpoint& checkpoint : run.checkpoints) {
    if (checkpoint.step != retired.step) continue;
    checkpoint.retired = true;
    change.Save(std::move(run));
    return OkStatus();
  }
  return change.Impossible("no checkpoint of that step is sealed");
}

Status ApplyBody(const CheckpointVerified& verified, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, Suspected(verified.step, change));
  if (run.state == RunState::kBackoff) {
    run.suspicion->whole = true;
    run.suspicion->asks_coordinator = false;
    run.retry_at = change.event().at;
    run.reason = run.backoff_reason = verified.text;
  } else {
    run.suspicion.reset();
  }
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const CheckpointDamaged& damaged, RunChange& change) {
  if (damaged.lost) return ApplyLoss(damaged, change);
  if (damaged.epoch != 0) return ApplyForeignReport(damaged, change);
  ASSIGN_OR_RETURN(Run run, Suspected(damaged.step, change));
  if (run.state != RunState::kBackoff) return change.Impossible("it does not wait");
  for (const NodeId& node : run.suspicion->told_by) run.doubtful_nodes.erase(node);
  Quarantine(damaged.step, damaged.reason, change.event().at, run);
  run.suspicion.reset();
  run.reason = run.backoff_reason = damaged.reason;
  run.retry_at = change.event().at;
  run.gave_up = run.LatestCheckpoint() == nullptr;
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const CheckpointRestored& restored, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  const std::string refusal = RestoreRefusal(run, restored.step);
  if (!refusal.empty()) return change.Impossible(refusal);
  const QuarantinedCheckpoint* held = run.FindQuarantined(restored.step);
  SealedCheckpoint checkpoint = held->checkpoint;
  const bool superseded = held->superseded;
  run.quarantined.erase(run.quarantined.begin() + (held - run.quarantined.data()));
  checkpoint.restored = true;
  checkpoint.restored_by_request = change.event().request_id;
  if (superseded) {
    InsertByEpoch(std::move(checkpoint), run.superseded);
    change.Save(std::move(run));
    return OkStatus();
  }
  // The run will resume from this newer checkpoint, so the suspected one is not read again.
  if (run.suspicion && checkpoint.step > run.suspicion->step) run.suspicion.reset();
  const auto place =
      std::find_if(run.checkpoints.begin(), run.checkpoints.end(),
                   [&](const SealedCheckpoint& other) { return other.step > checkpoint.step; });
  run.checkpoints.insert(place, std::move(checkpoint));
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const CheckpointPinned& pinned, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  SealedCheckpoint* checkpoint = FindSealed(run, {pinned.step, pinned.epoch});
  if (checkpoint == nullptr || checkpoint->retired) {
    return change.Impossible("no checkpoint of that step is sealed");
  }
  checkpoint->pinned = pinned.pinned;
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const CheckpointsPruned& prune, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  for (const CheckpointKey& pruned : prune.checkpoints) {
    SealedCheckpoint* checkpoint = FindSealed(run, pruned);
    if (checkpoint == nullptr || checkpoint->retired) {
      return change.Impossible("a checkpoint to remove is not sealed");
    }
    checkpoint->retired = true;
  }
  change.Save(std::move(run));
  return OkStatus();
}

// Ignored if the run continued or ended during the read.
Status ApplyBody(const CheckpointRead& read, RunChange& change) {
  const std::shared_ptr<const Run> known = change.cluster().FindRun(change.event().run);
  if (known == nullptr || !known->suspicion) return OkStatus();
  if (known->suspicion->step != read.step || !known->suspicion->asks_coordinator) {
    return OkStatus();
  }
  Run run = *known;
  run.suspicion->verdict.emplace(read.verdict, read.text);
  if (read.verdict == Verdict::kUnreadable) {
    run.suspicion->asks_coordinator = false;
    run.reason = fmt::format("the coordinator cannot read the checkpoint of step {} either: {}",
                             read.step, read.text);
    run.backoff_reason = run.reason;
  }
  change.cluster().Set(std::move(run));
  return OkStatus();
}

}  // namespace gp::coordinator

#include "coordinator/state/invariants.h"

#include <algorithm>
#include <map>

namespace gp::coordinator {
namespace {

// The first broken rule of a run; empty when it keeps them all.
using Rule = std::string;

Rule GangRule(const Run& run) {
  if (!run.holds_slots) return "";
  const int ranks = static_cast<int>(run.placement.size());
  const Submission& submission = *run.submission;
  const bool changes = submission.survivors_min > 0;
  const int fewest = changes ? submission.survivors_min : submission.workers;
  const int most =
      changes ? std::max(submission.workers, submission.workers_max) : submission.workers;
  if (ranks < fewest || ranks > most) return "its gang is not complete";
  for (size_t rank = 0; rank < run.placement.size(); ++rank) {
    if (run.placement[rank].rank != static_cast<int>(rank)) return "its ranks have gaps";
  }
  if (run.group && run.group->addresses.size() != run.placement.size()) {
    return "its group does not have one address per rank";
  }
  return "";
}

Rule CheckpointRule(const Run& run) {
  for (size_t i = 0; i < run.checkpoints.size(); ++i) {
    if (run.checkpoints[i].epoch > run.epoch) return "a checkpoint has a future epoch";
    if (i > 0 && run.checkpoints[i].step <= run.checkpoints[i - 1].step) {
      return "sealed steps do not grow";
    }
  }
  if (run.checkpoints.empty() || !run.checkpoints.back().retired) return "";
  // The newest sealed checkpoint may be retired only when a newer one is in quarantine.
  const int64_t newest = run.checkpoints.back().step;
  for (const QuarantinedCheckpoint& held : run.quarantined) {
    if (held.checkpoint.step > newest) return "";
  }
  return "its newest checkpoint is retired";
}

// Whether `run` still has this checkpoint, sealed or in quarantine, with the same content.
bool Holds(const Run& run, const SealedCheckpoint& sealed) {
  const auto same = [&sealed](const SealedCheckpoint& other) {
    return other.step == sealed.step && other.manifest_digest == sealed.manifest_digest;
  };
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(), same) ||
         std::any_of(run.superseded.begin(), run.superseded.end(), same) ||
         std::any_of(run.quarantined.begin(), run.quarantined.end(),
                     [&](const QuarantinedCheckpoint& held) { return same(held.checkpoint); });
}

// Checkpoints that a program may not delete.
size_t CheckpointCount(const Run& run) {
  return run.checkpoints.size() + run.superseded.size() + run.quarantined.size();
}

Rule LegRule(const Run& before, const Run& after) {
  if (after.leg.number < before.leg.number) return "its leg went back";
  if (after.leg.number > before.leg.number) return "";
  // At the end of a leg only the run files leave the memory.
  const bool is_slim =
      after.submission->texts_are_stored && after.submission->record == before.submission->record;
  if (before.submission != after.submission && !is_slim) return "its submission changed";
  const bool revived = IsTerminal(before.state) && after.state != before.state;
  return revived ? "terminal is final for a leg" : "";
}

Rule TransitionRule(const Run& before, const Run& after) {
  const Rule broken = LegRule(before, after);
  if (!broken.empty()) return broken;
  if (after.epoch < before.epoch) return "its epoch went back";
  if (CheckpointCount(after) < CheckpointCount(before)) return "a checkpoint is gone";
  const auto kept = [&after](const SealedCheckpoint& sealed) { return Holds(after, sealed); };
  const bool unchanged = std::all_of(before.checkpoints.begin(), before.checkpoints.end(), kept);
  return unchanged ? "" : "a sealed checkpoint changed";
}

Rule BrokenRule(const Cluster& before, const Cluster& after, const RunId& id) {
  const auto run = after.FindRun(id);
  if (run == nullptr) return after.FindDeleted(id) != nullptr ? "" : "it disappeared";
  if (run->reason.empty()) return "it has no reason";
  if (IsTerminal(run->state) && run->holds_slots) return "it ended and holds slots";
  if (run->set_aside) return IsTerminal(run->state) ? "" : "it was set aside but continues";
  const AnsweredRequest* request = after.requests.Find(run->submission->request_id);
  if (request == nullptr || request->run != id) return "its request is not recorded";
  const auto earlier = before.FindRun(id);
  Rule broken = earlier == nullptr ? "" : TransitionRule(*earlier, *run);
  if (broken.empty()) broken = GangRule(*run);
  return broken.empty() ? CheckpointRule(*run) : broken;
}

// The runs that hold slots; those that already held them before this batch come first.
std::vector<std::shared_ptr<const Run>> Holders(const Cluster& before, const Cluster& after) {
  std::vector<std::shared_ptr<const Run>> holders;
  for (const auto& [sequence, id] : after.busy) {
    const auto run = after.FindRun(id);
    if (run != nullptr && run->holds_slots) holders.push_back(run);
  }
  std::stable_partition(holders.begin(), holders.end(), [&](const auto& run) {
    const auto earlier = before.FindRun(run->id);
    return earlier != nullptr && earlier->holds_slots && earlier->epoch == run->epoch;
  });
  return holders;
}

// Reports the run that took a slot which another run already held.
void FindSharedSlots(const Cluster& before, const Cluster& after,
                     std::vector<Violation>& violations) {
  std::map<std::pair<NodeId, SlotId>, RunId> held;
  for (const auto& run : Holders(before, after)) {
    for (const Placement& placement : SlotsOf(*run)) {
      const auto [it, fresh] = held.emplace(std::pair(placement.node, placement.slot), run->id);
      if (fresh) continue;
      violations.push_back({run->id, fmt::format("slot '{}' of node '{}' is held by run '{}'",
                                                 placement.slot, placement.node, it->second)});
      break;
    }
  }
}

}  // namespace

std::vector<Violation> FindViolations(const Cluster& before, const Cluster& after,
                                      const std::set<RunId>& touched) {
  std::vector<Violation> violations;
  for (const RunId& id : touched) {
    Rule broken = BrokenRule(before, after, id);
    if (!broken.empty()) violations.push_back({id, std::move(broken)});
  }
  FindSharedSlots(before, after, violations);
  return violations;
}

}  // namespace gp::coordinator

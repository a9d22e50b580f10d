#include "coordinator/state/invariants.h"

#include <map>

namespace gp::coordinator {
namespace {

Status Broken(const Run& run, const std::string& rule) {
  return Internal("invariant broken for run '{}' in state {}: {}", run.id, Name(run.state), rule);
}

Status CheckGang(const Run& run) {
  if (!run.holds_slots) return OkStatus();
  if (static_cast<int>(run.placement.size()) != run.submission->workers) {
    return Broken(run, "its gang is not complete");
  }
  for (size_t rank = 0; rank < run.placement.size(); ++rank) {
    if (run.placement[rank].rank != static_cast<int>(rank))
      return Broken(run, "its ranks have gaps");
  }
  if (run.group && run.group->addresses.size() != run.placement.size()) {
    return Broken(run, "its group has not one address a rank");
  }
  return OkStatus();
}

Status CheckCheckpoints(const Run& run) {
  for (size_t i = 0; i < run.checkpoints.size(); ++i) {
    if (run.checkpoints[i].epoch > run.epoch) return Broken(run, "a checkpoint has a future epoch");
    if (i > 0 && run.checkpoints[i].step <= run.checkpoints[i - 1].step) {
      return Broken(run, "sealed steps do not grow");
    }
  }
  if (!run.checkpoints.empty() && run.checkpoints.back().retired) {
    return Broken(run, "its newest checkpoint is retired");
  }
  return OkStatus();
}

Status CheckTransition(const Run& before, const Run& after) {
  if (before.submission != after.submission) return Broken(after, "its submission changed");
  if (IsTerminal(before.state) && after.state != before.state) {
    return Broken(after, "terminal is final");
  }
  if (after.epoch < before.epoch) return Broken(after, "its epoch went back");
  if (after.checkpoints.size() + after.damaged.size() <
      before.checkpoints.size() + before.damaged.size()) {
    return Broken(after, "a checkpoint is gone");
  }
  if (after.damaged.size() != before.damaged.size()) return OkStatus();
  for (size_t i = 0; i < before.checkpoints.size(); ++i) {
    if (before.checkpoints[i].manifest_digest != after.checkpoints[i].manifest_digest) {
      return Broken(after, "a sealed checkpoint changed");
    }
  }
  return OkStatus();
}

Status CheckRun(const Cluster& before, const Cluster& after, const RunId& id) {
  const auto run = after.FindRun(id);
  if (run == nullptr) return Internal("invariant broken: run '{}' disappeared", id);
  if (run->reason.empty()) return Broken(*run, "it has no reason");
  if (IsTerminal(run->state) && run->holds_slots) return Broken(*run, "it ended and holds slots");
  const AnsweredRequest* request = after.requests.Find(run->submission->request_id);
  if (request == nullptr || request->run != id) return Broken(*run, "its request is not recorded");
  if (const auto earlier = before.FindRun(id)) RETURN_IF_ERROR(CheckTransition(*earlier, *run));
  RETURN_IF_ERROR(CheckGang(*run));
  return CheckCheckpoints(*run);
}

Status CheckSlots(const Cluster& cluster) {
  std::map<std::pair<NodeId, SlotId>, RunId> holders;
  for (const auto& [sequence, id] : cluster.busy) {
    const auto run = cluster.FindRun(id);
    if (run == nullptr || !run->holds_slots) continue;
    for (const Placement& placement : run->placement) {
      const auto [it, fresh] = holders.emplace(std::pair(placement.node, placement.slot), id);
      if (!fresh) {
        return Internal("invariant broken: slot '{}' of node '{}' is held by runs '{}' and '{}'",
                        placement.slot, placement.node, it->second, id);
      }
    }
  }
  return OkStatus();
}

}  // namespace

Status CheckInvariants(const Cluster& before, const Cluster& after,
                       const std::set<RunId>& touched) {
  if (after.runs.size() < before.runs.size()) return Internal("invariant broken: runs disappeared");
  for (const RunId& id : touched) RETURN_IF_ERROR(CheckRun(before, after, id));
  return CheckSlots(after);
}

}  // namespace gp::coordinator

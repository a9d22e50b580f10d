#include "coordinator/notifications/waiting_runs.h"

namespace gp::coordinator {
namespace {

template <typename... Bodies>
bool IsOneOf(const Event& event) {
  return (std::holds_alternative<Bodies>(event.body) || ...);
}

bool BeginsWait(const Event& event) {
  return IsOneOf<RunSubmitted, RunRequeued, RankFailed, RunResumed, LegRequested, LegBegun>(event);
}

bool EndsWait(const Event& event) {
  return IsOneOf<RunPlaced, RunPaused, RunEnded, RunDeleted>(event);
}

}  // namespace

bool ChangesWait(const Event& event) { return BeginsWait(event) || EndsWait(event); }

void WaitingRuns::Observe(const StoredEvent& stored) {
  const RunId& run = stored.event.run;
  if (!ChangesWait(stored.event)) return;
  const auto reported = reported_.find(run);
  if (reported != reported_.end() && reported->second < stored.sequence) reported_.erase(reported);
  if (EndsWait(stored.event)) {
    waits_.erase(run);
  } else {
    waits_[run] = {stored.sequence, stored.event.at};
  }
}

std::vector<std::pair<RunId, SlotWait>> WaitingRuns::Due(const Cluster& cluster, Timestamp now,
                                                         std::chrono::nanoseconds limit) const {
  std::vector<std::pair<RunId, SlotWait>> due;
  for (const auto& [id, wait] : waits_) {
    if (now - wait.since < limit || reported_.contains(id)) continue;
    const auto run = cluster.FindRun(id);
    if (run != nullptr && IsWaiting(run->state)) due.emplace_back(id, wait);
  }
  return due;
}

}  // namespace gp::coordinator

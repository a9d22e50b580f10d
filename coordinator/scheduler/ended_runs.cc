#include "coordinator/scheduler/ended_runs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "coordinator/scheduler/retention.h"
#include "coordinator/state/admission.h"

namespace gp::coordinator {
namespace {

using RunPointer = std::shared_ptr<const Run>;

Timestamp EndOf(const Run& run) { return run.finished_at.value_or(run.submitted_at); }

// The runs that have ended, the one that ended first first.
std::vector<RunPointer> EndedRuns(const Cluster& cluster) {
  std::vector<RunPointer> runs;
  cluster.runs.ForEach([&](const RunId&, const RunPointer& run) {
    if (IsTerminal(run->state)) runs.push_back(run);
  });
  std::ranges::sort(runs, {}, [](const RunPointer& run) {
    return std::pair(EndOf(*run), run->submitted_sequence);
  });
  return runs;
}

bool HasPinned(const Run& run) {
  const auto is_pinned = [](const SealedCheckpoint& one) { return one.pinned && !one.retired; };
  return std::ranges::any_of(run.checkpoints, is_pinned) ||
         std::ranges::any_of(run.superseded, is_pinned);
}

uint64_t PrunableBytes(const Cluster& cluster, const Run& run) {
  std::set<std::pair<int64_t, Epoch>> prunable;
  for (const PrunedCheckpoint& one : PrunableCheckpoints(cluster, run, 1)) {
    prunable.emplace(one.step, one.epoch);
  }
  uint64_t bytes = 0;
  for (const auto* sealed : {&run.checkpoints, &run.superseded}) {
    for (const SealedCheckpoint& one : *sealed) {
      if (!one.retired && prunable.contains({one.step, one.epoch})) bytes += one.size_bytes;
    }
  }
  return bytes;
}

}  // namespace

std::vector<RunId> EndedRunsToDelete(const Cluster& cluster, const EndedRunsPolicy& policy,
                                     Timestamp now) {
  if (policy.age.count() <= 0 && policy.count <= 0) return {};
  const std::vector<RunPointer> runs = EndedRuns(cluster);
  std::vector<RunId> chosen;
  size_t newer = runs.size();  // how many ended after this one
  for (const RunPointer& run : runs) {
    --newer;
    const bool is_old = policy.age.count() > 0 && now - EndOf(*run) > policy.age;
    const bool is_beyond = policy.count > 0 && newer >= static_cast<size_t>(policy.count);
    if (!(is_old || is_beyond) || HasPinned(*run) || IsNeeded(cluster, *run)) continue;
    chosen.push_back(run->id);
  }
  return chosen;
}

std::vector<RunId> EndedRunsToPrune(const Cluster& cluster, uint64_t bytes_needed) {
  std::vector<RunId> chosen;
  if (bytes_needed == 0) return chosen;
  uint64_t freed = 0;
  for (const RunPointer& run : EndedRuns(cluster)) {
    const uint64_t bytes = PrunableBytes(cluster, *run);
    if (bytes == 0) continue;
    chosen.push_back(run->id);
    freed += bytes;
    if (freed >= bytes_needed) break;
  }
  return chosen;
}

uint64_t BytesAboveWatermark(const EndedRunsPolicy& policy, uint64_t total_bytes,
                             uint64_t free_bytes) {
  if (policy.disk_watermark <= 0) return 0;
  const double wanted_free = (1 - policy.disk_watermark) * static_cast<double>(total_bytes);
  const double missing = wanted_free - static_cast<double>(free_bytes);
  return missing > 0 ? static_cast<uint64_t>(missing) : 0;
}

}  // namespace gp::coordinator

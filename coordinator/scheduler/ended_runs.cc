#include "coordinator/scheduler/ended_runs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "coordinator/scheduler/retention.h"
#include "coordinator/state/admission.h"

namespace gp::coordinator {
namespace {

using RunPointer = std::shared_ptr<const Run>;

// No run ended earlier: a clock that says so is wrong.
constexpr Timestamp kFirstEnd = std::chrono::sys_days(std::chrono::year(2025) / 1 / 1);

// The runs that have ended, the one that ended first first.
std::vector<RunPointer> EndedRuns(const Cluster& cluster) {
  std::vector<RunPointer> runs;
  cluster.runs.ForEach([&](const RunId&, const RunPointer& run) {
    if (IsTerminal(run->state)) runs.push_back(run);
  });
  std::ranges::sort(runs, {}, [](const RunPointer& run) {
    return std::pair(run->ended_sequence, run->submitted_sequence);
  });
  return runs;
}

// How long ago each of the runs, in the order of their ends, has ended at least.
std::vector<std::chrono::microseconds> AgesOf(const std::vector<RunPointer>& runs,
                                              const ObservedTime& time) {
  std::vector<std::optional<Timestamp>> ends(runs.size());
  Timestamp newest = kFirstEnd;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Timestamp end = runs[i]->finished_at.value_or(Timestamp());
    if (end < newest || end > time.now()) continue;
    ends[i] = newest = end;
  }
  std::vector<std::chrono::microseconds> ages(runs.size());
  Timestamp next = time.now();
  for (size_t i = runs.size(); i-- > 0;) {
    next = ends[i].value_or(next);
    ages[i] = time.Since(next);
  }
  return ages;
}

bool HasPinned(const Run& run) {
  const auto is_pinned = [](const SealedCheckpoint& one) { return one.pinned && !one.retired; };
  return std::ranges::any_of(run.checkpoints, is_pinned) ||
         std::ranges::any_of(run.superseded, is_pinned);
}

// The sweeps that have not ended still compare them.
std::set<RunId> TrialsOfLiveSweeps(const Cluster& cluster) {
  std::set<RunId> trials;
  for (const auto& [sequence, id] : cluster.live_sweeps) {
    for (const SweepTrial& trial : cluster.FindSweep(id)->spec->trials) trials.insert(trial.run);
  }
  return trials;
}

uint64_t PrunableBytes(const Cluster& cluster, const Run& run) {
  std::set<std::pair<int64_t, Epoch>> prunable;
  for (const CheckpointKey& one : PrunableCheckpoints(cluster, run, 1)) {
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
                                     const ObservedTime& time) {
  if (policy.age.count() <= 0 && policy.count <= 0) return {};
  const std::vector<RunPointer> runs = EndedRuns(cluster);
  const auto ages = AgesOf(runs, time);
  const auto age_max = std::chrono::duration_cast<std::chrono::microseconds>(policy.age);
  const std::set<RunId> trials = TrialsOfLiveSweeps(cluster);
  std::vector<RunId> chosen;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Run& run = *runs[i];
    const size_t newer = runs.size() - i - 1;  // how many ended after this one
    const bool is_old = age_max.count() > 0 && ages[i] > age_max;
    const bool is_beyond = policy.count > 0 && newer >= static_cast<size_t>(policy.count);
    if (!(is_old || is_beyond) || HasPinned(run) || IsNeeded(cluster, run)) continue;
    if (trials.contains(run.id)) continue;
    chosen.push_back(run.id);
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

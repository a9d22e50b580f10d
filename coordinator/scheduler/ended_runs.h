// The service's retention: which runs that have ended to delete, and of which to remove
// checkpoints. It is off unless the settings retention.* are set. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "coordinator/scheduler/observed_time.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

struct EndedRunsPolicy {
  std::chrono::nanoseconds age{0};  // runs that ended longer ago are deleted; 0: none
  int count = 0;  // this many of the runs that ended last stay, older ones are deleted; 0: all stay
  // Above this used share of the storage, checkpoints of ended runs are removed; 0: never.
  double disk_watermark = 0;

  bool IsOn() const { return age.count() > 0 || count > 0 || disk_watermark > 0; }
};

// The runs to delete because of their age or number, the one that ended first first (in the order
// of events, whatever the clock said). Never one from which another run began or is about to begin,
// nor one with a pinned checkpoint, nor a trial of a sweep that has not ended; these count towards
// `count`.
// An age never counts time that may not have passed:
//   - `time` leaves out what the wall clock skipped while the coordinator ran;
//   - an end cannot be true if it is in the future, before gp existed, or before that of a run that
//     ended earlier: then the clock was wrong at that time, and the run counts as having ended with
//     the next run whose end can be true. The last one has no age.
std::vector<RunId> EndedRunsToDelete(const Cluster& cluster, const EndedRunsPolicy& policy,
                                     const ObservedTime& time);

// The ended runs from which to remove everything that a prune removes (PrunableCheckpoints with 1),
// until about `bytes_needed` are free. The one that ended first comes first, as above.
std::vector<RunId> EndedRunsToPrune(const Cluster& cluster, uint64_t bytes_needed);

// How many bytes must become free so that at most the policy's share of the storage is used; 0:
// none.
uint64_t BytesAboveWatermark(const EndedRunsPolicy& policy, uint64_t total_bytes,
                             uint64_t free_bytes);

}  // namespace gp::coordinator

// Retention: which sealed checkpoints of a run to delete. PlanRetention keeps
//   - the newest checkpoint.keep_last, but at least two, so that a damaged newest one can be
//     replaced by the one before it,
//   - with keep_best the one with the lowest validation loss,
//   - with keep_every = N the first at or after each multiple of N steps,
//   - those that a run without a checkpoint of its own starts from: a live one
//     (Cluster::awaited_models), or one that has ended and may be resumed or retried,
//   - those that a person restored from quarantine or pinned; they do not count towards keep_last.
// PrunableCheckpoints is for prunes, by a person or at the disk watermark.
// RunDirectories deletes the directories. Pure; thread-safe.
#pragma once

#include <vector>

#include "coordinator/scheduler/plan.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Adds a CheckpointRetired action for each checkpoint that is not kept.
void PlanRetention(const Cluster& cluster, const Run& run, Plan& plan);

// What a prune removes, by step: every checkpoint, superseded ones too, except the newest
// `keep_last` (of a live run at least two), the best, pinned and restored ones, those that other
// runs began from, and those that the live run itself uses now. The newest are superseded ones only
// while the run has no others.
std::vector<CheckpointKey> PrunableCheckpoints(const Cluster& cluster, const Run& run,
                                               int keep_last);

}  // namespace gp::coordinator

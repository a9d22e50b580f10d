// Retention: which sealed checkpoints of a run to delete. It keeps
//   - the newest checkpoint.keep_last, but at least two, so that a damaged newest one can be
//     replaced by the one before it,
//   - with keep_best the one with the lowest validation loss,
//   - with keep_every = N the first at or after each multiple of N steps,
//   - those that a live run without a checkpoint of its own starts from (Cluster::awaited_models),
//   - those that a person restored from quarantine; they do not count towards keep_last.
// RunDirectories deletes the directories. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Adds a CheckpointRetired action for each checkpoint that is not kept.
void PlanRetention(const Cluster& cluster, const Run& run, Plan& plan);

}  // namespace gp::coordinator

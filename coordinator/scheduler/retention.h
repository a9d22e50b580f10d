// Retention: which sealed checkpoints of a run to delete (checkpoint.keep_last, keep_best,
// keep_every). It always keeps the newest one, the best one if requested, and those that another
// run is about to start from. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Adds CheckpointRetired actions.
void PlanRetention(const Cluster& cluster, const Run& run, Plan& plan);

}  // namespace gp::coordinator

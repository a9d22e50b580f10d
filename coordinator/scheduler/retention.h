// Retention: which sealed checkpoints a run gives up (checkpoint.keep_last, keep_best,
// keep_every). The newest and, when asked for, the best are never given up, nor those that another
// run is about to begin with. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Adds CheckpointRetired actions.
void PlanRetention(const Cluster& cluster, const Run& run, Plan& plan);

}  // namespace gp::coordinator

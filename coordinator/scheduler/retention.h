// Retention: which sealed checkpoints a run gives up (checkpoint.keep_last, keep_best,
// keep_every). The newest and, when asked for, the best are never given up. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/state/run.h"

namespace gp::coordinator {

// Adds CheckpointRetired actions.
void PlanRetention(const Run& run, Plan& plan);

}  // namespace gp::coordinator

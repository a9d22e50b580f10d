// Progress: decides a run's next state change from its agents' reports: group ready, started,
// sealed, finishing, failed, requeued, draining, ended. Also updates what a running rank waits for
// (RunWaiting). Placement is decided in queue.h. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Adds one action at most, or one CheckpointSealed for each checkpoint to seal.
void PlanProgress(const Cluster& cluster, const Run& run, const Policy& policy, const Now& now,
                  Plan& plan);

}  // namespace gp::coordinator

// Progress: decides a run's next state change from its agents' reports: group ready, started,
// sealed, finishing, failed, ended. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

void PlanProgress(const Cluster& cluster, const Run& run, const Policy& policy, const Now& now,
                  Plan& plan);

}  // namespace gp::coordinator

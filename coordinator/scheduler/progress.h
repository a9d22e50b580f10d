// Progress: the next step of one run through its life, from what its agents report: group ready,
// started, sealed, finishing, failed, ended. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

void PlanProgress(const Cluster& cluster, const Run& run, const Policy& policy, const Now& now,
                  Plan& plan);

}  // namespace gp::coordinator

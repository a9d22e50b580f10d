// Faulty nodes: cordons a node on which trainers of several runs end by themselves. Pure;
// thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Plans NodeCordoned for each node on which, within kOwnExitMemory, trainers of two runs ended by
// themselves, or trainers of one run twice, and that run has got further on other nodes since.
// Never cordons the last usable node with slots of a kind. What runs there continues.
void PlanCordons(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan);

// Whether a node may have to be cordoned once this plan is applied.
bool MayMakeNodeFaulty(const Plan& plan);

}  // namespace gp::coordinator

// Queue: which waiting run is placed next. Higher priority first, then in order of submission. A
// run that fails keeps its place, and its slots during the pause before a retry. No run overtakes
// an earlier one, except one that is too large for all nodes together. Pure; thread-safe.
#pragma once

#include <vector>

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The runs that wait for slots, in the order in which they are placed. The pointers are valid as
// long as the cluster.
std::vector<const Run*> WaitingInOrder(const Cluster& cluster);

// Adds RunQueued, RunPlaced and RunWaiting actions.
void PlanQueue(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan);

}  // namespace gp::coordinator

// Queue: which waiting runs are placed now, and from which checkpoint (RunPlaced::resume_step).
// Order: higher priority first, then in order of submission. A run that fails keeps its place, and
// its slots during the pause before a retry. Nothing is preempted.
//
// Runs on CPU cores and runs on GPUs wait in separate queues. The first run of a queue that cannot
// be placed reserves every free slot that it can use; later runs of that queue are placed only on
// the slots that are left. A run that is too large for all nodes together reserves nothing. Pure;
// thread-safe.
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

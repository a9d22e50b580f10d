// MakePlan: the scheduler. A pure function of the cluster, the policy and the time: equal arguments
// give equal plans. So a plan can be recorded, simulated, and made again at any time. Thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The next actions of every live run, oldest run first where order matters. An action is at most
// one step ahead of what the cluster shows, so the caller applies them and asks again until the
// plan is empty. RunGroupReady has no nonce yet: the caller draws it.
Plan MakePlan(const Cluster& cluster, const Policy& policy, const Now& now);

}  // namespace gp::coordinator

// MakePlan: the scheduler. A pure function of the cluster, the policy and the time: equal arguments
// give equal plans. So a plan can be recorded, simulated, and made again at any time. Thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The next actions of all live runs and sweeps: first those of runs that have left the queue, in
// the order of submission; if there are none, those of sweeps; then placements in the order of
// queue.h, unless a sweep has actions. Actions are planned from `cluster` alone and not from each
// other's effects, except that placements share the free slots. So the caller (control/batch.cc)
// applies them and plans again until the plan is empty. RunGroupReady has no nonce yet: the caller
// draws it.
Plan MakePlan(const Cluster& cluster, const Policy& policy, const Now& now);

}  // namespace gp::coordinator

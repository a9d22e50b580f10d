// Shrinking: when ranks leave a run that trains although none of them failed. The last ranks leave,
// and the others go on in the same step. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Whether the run goes on in place without its ranks on nodes that they must leave (LeaveText). Not
// without rank 0, which saves and ends the run there.
// REQUIRES: the run holds slots.
bool MayLeaveInPlace(const Cluster& cluster, const Run& run);

// Adds to `plan` RunReconfigured, or JoinerLeft, for runs that go on in place (GoesOnInPlace) and
// have ranks on nodes that they must leave, or more than a user asked for; and for runs that have
// more than resources.workers, when the first run that waits for slots of CPU cores fits without
// those. At most one event for each run.
void PlanShrinking(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan);

}  // namespace gp::coordinator

// Joining: how a run that trains gets the ranks that it lacks. A rank is started in a free slot
// while the others train (a joiner); when it is ready it becomes a member of the next group. Pure;
// thread-safe.
#pragma once

#include <optional>

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Adds to `plan` for each run that goes on in place (GoesOnInPlace): JoinerLeft for a joiner that
// ended or whose node is lost or drained; RunReconfigured when joiners are ready and every member
// trains; and JoinerPlaced when ranks are missing and there is a free slot that no waiting run of a
// higher priority may get. At most one event for each run.
void PlanJoining(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan);

}  // namespace gp::coordinator

// Recovery: finds out whether a run lost a rank, which rank is to blame, and whether to retry.
// Pure; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The failure that ends the current epoch: the rank to blame, why, and whether and when to retry.
// Nullopt while no rank has failed, or while the rank to blame is still unknown. REQUIRES: the run
// holds slots.
std::optional<Action> FindFailure(const Cluster& cluster, const Run& run, const Policy& policy,
                                  const Now& now);

// The run waits for slots again, which is not a failure: `why`, and the step it resumes from.
Action RequeueAction(const Cluster& cluster, const Run& run, const std::string& why);

}  // namespace gp::coordinator

// Recovery: has a rank of a run been lost, whose fault was it, and is it worth another try? Pure;
// thread-safe.
#pragma once

#include <optional>

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The failure that ends the present epoch: the rank to blame, why, and whether and when to retry.
// Nothing while every rank is well, or while the rank to blame is not known yet. REQUIRES: the run
// holds slots.
std::optional<Action> FindFailure(const Cluster& cluster, const Run& run, const Policy& policy,
                                  const Now& now);

}  // namespace gp::coordinator

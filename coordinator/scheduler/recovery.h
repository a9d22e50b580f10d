// Recovery: finds out whether a run lost a rank, which rank is to blame, and whether to retry.
// Pure; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// What ends the current epoch early: RunReconfigured when the other ranks go on in place;
// otherwise RankFailed with the rank to blame, why, and whether and when to retry; or RunRequeued
// when a rank was stopped from outside. If not every rank is ready within
// Policy::start_timeout, rank 0 gets the blame. Nullopt while no rank has failed or was stopped;
// while the rank to blame is still unknown (Policy::blame_delay); and while the other ranks of a
// stopped group may still be saving (Policy::leave_timeout). REQUIRES: the run holds slots.
std::optional<Action> FindFailure(const Cluster& cluster, const Run& run, const Policy& policy,
                                  const Now& now);

// RunRequeued: the run waits for slots again, which is not a failure. The reason is `why` and the
// step it resumes from.
Action RequeueAction(const Cluster& cluster, const Run& run, const std::string& why);

}  // namespace gp::coordinator

// Plans sweeps: submits their trials, continues the winners of a rung, stops losers, ends sweeps.
// Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The next actions of every sweep that has not ended, in the order of submission.
void PlanSweeps(const Cluster& cluster, Plan& plan);

}  // namespace gp::coordinator

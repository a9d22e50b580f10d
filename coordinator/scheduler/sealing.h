// Sealing: adds the checkpoints that a run's ranks have written to the catalogue. SealRefusal
// (state/assignment.h) decides which ones can never be sealed. Pure; thread-safe.
#pragma once

#include "coordinator/scheduler/plan.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// Seals the checkpoints that the ranks of the run's epoch report as written, oldest step first,
// each step once. Returns whether it added anything to the plan.
bool PlanSeals(const Cluster& cluster, const Run& run, Plan& plan);

}  // namespace gp::coordinator

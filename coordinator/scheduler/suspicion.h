// Suspicion: when a rank reports a damaged checkpoint, finds out whether the checkpoint or the
// rank's node is at fault. Two readers must agree; see struct Suspicion in state/run.h. Pure;
// thread-safe.
#pragma once

#include <string>

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// What to do after a rank reported its checkpoint as damaged.
struct DamageReport {
  NextReader next_reader = NextReader::kNobody;
  bool excused = false;   // retried at once and not counted towards Submission::retries_max
  std::string what_next;  // appended to the failure's message
};

// REQUIRES: the run holds slots.
DamageReport JudgeDamageReport(const Cluster& cluster, const Run& run, int rank,
                               const Policy& policy);

// Adds CheckpointDamaged when a second reader has confirmed the damage. Adds CheckpointVerified
// when the coordinator found the checkpoint intact, or when the run has started from it.
void PlanSuspicion(const Cluster& cluster, const Run& run, Plan& plan);

}  // namespace gp::coordinator

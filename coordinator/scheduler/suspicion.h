// Suspicion: is the checkpoint that a run resumes from damaged, or is it the node that read it? One
// reader is never enough; the drawing is at the struct in state/run.h. Pure; thread-safe.
#pragma once

#include <string>

#include "coordinator/scheduler/plan.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// What follows when a rank says that its checkpoint is damaged.
struct DamageReport {
  NextReader next_reader = NextReader::kNobody;
  bool excused = false;  // it is no failure of the run
  std::string what_next;
};

// REQUIRES: the run holds slots.
DamageReport JudgeDamageReport(const Cluster& cluster, const Run& run, int rank,
                               const Policy& policy);

// CheckpointVerified or CheckpointDamaged once a second reader has told.
void PlanSuspicion(const Cluster& cluster, const Run& run, Plan& plan);

}  // namespace gp::coordinator

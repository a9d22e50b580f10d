#include "coordinator/scheduler/planner.h"

#include "coordinator/scheduler/faulty_node.h"
#include "coordinator/scheduler/joining.h"
#include "coordinator/scheduler/progress.h"
#include "coordinator/scheduler/queue.h"
#include "coordinator/scheduler/retention.h"
#include "coordinator/scheduler/suspicion.h"
#include "coordinator/scheduler/sweep_plan.h"

namespace gp::coordinator {

Plan MakePlan(const Cluster& cluster, const Policy& policy, const Now& now) {
  Plan plan;
  PlanCordons(cluster, policy, now, plan);
  if (!plan.empty()) return plan;  // nothing is placed on a node that is about to be cordoned
  for (const auto& [sequence, id] : cluster.busy) {
    const auto run = cluster.FindRun(id);
    PlanProgress(cluster, *run, policy, now, plan);
    PlanSuspicion(cluster, *run, plan);
    PlanRetention(cluster, *run, plan);
  }
  // Joining may concern a run that the plan above changes, or its slots. Sweeps cancel and continue
  // runs. So each is planned in a round of its own.
  if (plan.empty()) {
    PlanJoining(cluster, policy, now, plan);
    if (plan.empty()) PlanSweeps(cluster, plan);
    if (!plan.empty()) return plan;
  }
  // In the next round, when it is known whether a node is cordoned.
  if (!MayMakeNodeFaulty(plan)) PlanQueue(cluster, policy, now, plan);
  return plan;
}

}  // namespace gp::coordinator

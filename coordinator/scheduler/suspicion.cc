#include "coordinator/scheduler/suspicion.h"

#include <algorithm>
#include <utility>

#include "coordinator/scheduler/placement.h"

namespace gp::coordinator {
namespace {

// Whether the run fits on nodes other than `node` and its doubtful_nodes, counting their free slots
// and the slots that the run itself holds there.
bool FitsElsewhere(const Cluster& cluster, const Run& run, const NodeId& node,
                   const Policy& policy) {
  FreeSlots free = UsableBy(run, FindFreeSlots(cluster, policy));
  std::erase_if(free.nodes, [&](const FreeSlots::NodeSlots& slots) {
    return slots.node == node || run.doubtful_nodes.contains(slots.node);
  });
  int count = free.Count(TakesGpus(run, free));
  for (const Placement& place : run.placement) {
    count += static_cast<int>(
        std::count_if(free.nodes.begin(), free.nodes.end(),
                      [&](const auto& slots) { return slots.node == place.node; }));
  }
  return count >= WantedRanks(run);
}

std::string NamesOf(const Cluster& cluster, const std::set<NodeId>& nodes) {
  std::string names;
  for (const NodeId& node : nodes) {
    names += (names.empty() ? "node " : " and node ") + cluster.NodeName(node);
  }
  return names;
}

std::set<NodeId> NodesOf(const Run& run) {
  std::set<NodeId> nodes;
  for (const Placement& place : run.placement) nodes.insert(place.node);
  return nodes;
}

class SuspicionPlanner {
 public:
  SuspicionPlanner(const Cluster& cluster, const Run& run, Plan& plan)
      : cluster_(cluster), run_(run), suspicion_(*run.suspicion), plan_(plan) {}

  void Advance() {
    if (run_.state == RunState::kRunning) return Verify(NamesOf(cluster_, NodesOf(run_)));
    if (run_.state != RunState::kBackoff || run_.gave_up || !AwaitsVerdict(run_)) return;
    if (suspicion_.told_by.size() > 1) {
      return Condemn(NamesOf(cluster_, suspicion_.told_by) + " found it damaged");
    }
    if (!suspicion_.verdict) return;
    const auto& [verdict, text] = *suspicion_.verdict;
    if (verdict == Verdict::kDamaged) return Condemn(text);
    if (verdict == Verdict::kWhole) return Verify("the coordinator");
  }

 private:
  void Verify(const std::string& reader) {
    std::string text = fmt::format(
        "{} read the checkpoint of step {} and found it intact; {} had reported it as damaged; "
        "check the storage of that node",
        reader, suspicion_.step, NamesOf(cluster_, suspicion_.told_by));
    plan_.push_back({run_.id, CheckpointVerified{suspicion_.step, std::move(text)}, "scheduler"});
  }

  void Condemn(const std::string& why) {
    const SealedCheckpoint* earlier = run_.CheckpointBefore(suspicion_.step);
    std::string reason = fmt::format(
        "the checkpoint of step {} is damaged, as a second reader confirmed ({}); it is in "
        "quarantine; {}",
        suspicion_.step, why,
        earlier != nullptr ? fmt::format("going back to the checkpoint of step {}", earlier->step)
                           : "no earlier checkpoint is left to go back to");
    plan_.push_back({run_.id, CheckpointDamaged{suspicion_.step, std::move(reason)}, "scheduler"});
  }

  const Cluster& cluster_;
  const Run& run_;
  const Suspicion& suspicion_;
  Plan& plan_;
};

}  // namespace

DamageReport JudgeDamageReport(const Cluster& cluster, const Run& run, int rank,
                               const Policy& policy) {
  const SealedCheckpoint* newest = run.LatestCheckpoint();
  // The run did not resume from its newest checkpoint, so no second reader is needed.
  if (newest == nullptr || newest->step != run.resume_step) return {};
  const NodeId& node = run.placement.at(static_cast<size_t>(rank)).node;
  const bool suspected = run.suspicion && run.suspicion->step == run.resume_step;
  if (suspected && run.suspicion->whole) return {};
  if (suspected && !run.suspicion->told_by.contains(node)) {
    return {NextReader::kNobody, true, "; the second node to report it"};
  }
  if (!suspected && FitsElsewhere(cluster, run, node, policy)) {
    return {NextReader::kAnotherNode, true, "; another node reads it next"};
  }
  return {NextReader::kCoordinator, !suspected, "; the coordinator reads it to make sure"};
}

void PlanSuspicion(const Cluster& cluster, const Run& run, Plan& plan) {
  if (run.suspicion) SuspicionPlanner(cluster, run, plan).Advance();
}

}  // namespace gp::coordinator

#include "coordinator/scheduler/faulty_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "coordinator/scheduler/own_exit.h"
#include "coordinator/scheduler/placement.h"

namespace gp::coordinator {
namespace {

std::string NameOfRun(const Cluster& cluster, const RunId& id) {
  const auto run = cluster.FindRun(id);
  return run == nullptr ? id.value() : run->submission->name;
}

// Whether the run has taken a new step since its last own exit, on nodes other than this one.
bool GotFurtherElsewhere(const Cluster& cluster, const RunId& id, const NodeId& node) {
  const auto run = cluster.FindRun(id);
  return run != nullptr && run->holds_slots && !IsPlacedOn(*run, node) &&
         LastStepOf(cluster, *run) > run->exited_step;
}

// Why the node is to be cordoned; empty: it is not.
std::string WhyFaulty(const Cluster& cluster, const Node& node, Timestamp now) {
  std::map<RunId, int> exits;
  for (const OwnExit& exit : node.own_exits) {
    if (exit.at + kOwnExitMemory >= now) ++exits[exit.run];
  }
  if (exits.size() > 1) {
    return fmt::format("trainers of runs {} and {} failed there within an hour",
                       NameOfRun(cluster, exits.begin()->first),
                       NameOfRun(cluster, std::next(exits.begin())->first));
  }
  for (const auto& [run, count] : exits) {
    if (count < 2 || !GotFurtherElsewhere(cluster, run, node.id)) continue;
    return fmt::format("run {} failed there {} times and then got further on other nodes",
                       NameOfRun(cluster, run), count);
  }
  return "";
}

// Whether other usable nodes have slots of each kind that this one has.
bool IsReplaceable(const NodeId& node, const FreeSlots& all) {
  int cpus = 0;
  int gpus = 0;
  const FreeSlots::NodeSlots* own = nullptr;
  for (const FreeSlots::NodeSlots& one : all.nodes) {
    if (one.node == node) {
      own = &one;
      continue;
    }
    cpus += one.cpu_total;
    gpus += one.gpu_total;
  }
  if (own == nullptr) return cpus + gpus > 0;
  return (own->cpu_total == 0 || cpus > 0) && (own->gpu_total == 0 || gpus > 0);
}

}  // namespace

// One node in each round of the planner, so that the next one sees its cordon.
void PlanCordons(const Cluster& cluster, const Policy& policy, const Now& now, Plan& plan) {
  for (const auto& [id, node] : cluster.nodes) {
    if (node->cordon || node->own_exits.size() < 2) continue;
    std::string reason = WhyFaulty(cluster, *node, now.wall);
    if (reason.empty() || !IsReplaceable(id, FindFreeSlots(cluster, policy))) continue;
    plan.push_back(
        {{}, NodeCordoned{id, node->name, /*drain=*/false, std::move(reason)}, "scheduler"});
    return;
  }
}

bool MayMakeNodeFaulty(const Plan& plan) {
  return std::any_of(plan.begin(), plan.end(), [](const Action& action) {
    // The run may get further without the ranks on that node.
    if (std::holds_alternative<RunReconfigured>(action.event)) return true;
    const auto* failed = std::get_if<RankFailed>(&action.event);
    return failed != nullptr && failed->own_exit;
  });
}

}  // namespace gp::coordinator

#include "coordinator/state/cordon.h"

#include <fmt/format.h>

#include <set>

#include "base/check.h"
#include "coordinator/state/assignment.h"

namespace gp::coordinator {

int BusySlots(const Cluster& cluster, const Node& node) {
  std::set<SlotId> busy;
  for (const Assignment& assignment : AssignmentsOf(cluster, node.id)) busy.insert(assignment.slot);
  // The trainers of a disconnected node are unknown.
  if (!node.connected) return static_cast<int>(busy.size());
  for (const RankReport& rank : node.ranks) {
    if (rank.alive()) busy.insert(rank.slot);
  }
  for (const auto& [slot, revision] : node.withdrawn) busy.insert(slot);
  return static_cast<int>(busy.size());
}

std::string CordonText(const Node& node) {
  GP_CHECK(node.cordon.has_value());
  const std::string why = node.cordon->reason.empty() ? "" : " (" + node.cordon->reason + ")";
  return fmt::format("node {} is {}{}", node.name, node.cordon->drain ? "drained" : "cordoned",
                     why);
}

std::string LeaveText(const Node& node) {
  if (node.cordon && node.cordon->drain) return CordonText(node);
  return node.leaving ? fmt::format("the agent of node {} is being stopped", node.name) : "";
}

std::shared_ptr<const Node> DrainedNodeOf(const Cluster& cluster, const Run& run) {
  for (const Placement& placement : run.placement) {
    auto node = cluster.FindNode(placement.node);
    if (node != nullptr && node->cordon && node->cordon->drain) return node;
  }
  return nullptr;
}

}  // namespace gp::coordinator

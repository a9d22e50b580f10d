#include "coordinator/state/cluster.h"

namespace gp::coordinator {

std::shared_ptr<const Run> Cluster::FindRun(const RunId& id) const {
  const auto* found = runs.Find(id);
  return found == nullptr ? nullptr : *found;
}

std::shared_ptr<const Node> Cluster::FindNode(const NodeId& id) const {
  const auto it = nodes.find(id);
  return it == nodes.end() ? nullptr : it->second;
}

std::string Cluster::NodeName(const NodeId& id) const {
  const auto node = FindNode(id);
  return node == nullptr || node->name.empty() ? id.value() : node->name;
}

}  // namespace gp::coordinator

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

void Cluster::Set(Run run) {
  const bool queued = run.state == RunState::kSubmitted || run.state == RunState::kQueued;
  if (IsTerminal(run.state)) {
    live.erase(run.submitted_sequence);
    busy.erase(run.submitted_sequence);
  } else {
    live.emplace(run.submitted_sequence, run.id);
    if (!queued) busy.emplace(run.submitted_sequence, run.id);
  }
  tally.Replace(FindRun(run.id).get(), run);
  const RunId id = run.id;
  runs.Set(id, std::make_shared<const Run>(std::move(run)));
}

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

#include "coordinator/state/node_events.h"

#include <algorithm>
#include <utility>

namespace gp::coordinator {
namespace {

constexpr size_t kOwnExitsMax = 64;

void SetRanks(std::vector<RankReport> ranks, const Event& event, const Cluster& cluster,
              Node& node) {
  for (RankReport& rank : ranks) {
    const RankReport* before = node.FindRank(rank.run, rank.epoch, rank.rank);
    if (rank.holds) {
      rank.held_since = before != nullptr && before->holds ? before->held_since : cluster.now;
    }
    if (rank.alive()) continue;
    rank.exited_at = before != nullptr && !before->alive() ? before->exited_at : cluster.now;
  }
  node.ranks = std::move(ranks);
  node.last_heard = cluster.now;
  node.last_heard_at = event.at;
}

}  // namespace

Node NodeOrNew(const Cluster& cluster, const NodeId& id) {
  if (const auto known = cluster.FindNode(id)) return *known;
  Node node;
  node.id = id;
  return node;
}

void SaveNode(Node node, Cluster& cluster) {
  const NodeId id = node.id;
  cluster.nodes[id] = std::make_shared<const Node>(std::move(node));
}

void NoteOwnExitOn(const NodeId& id, const OwnExit& exit, Cluster& cluster) {
  Node node = NodeOrNew(cluster, id);
  std::erase_if(node.own_exits,
                [&exit](const OwnExit& earlier) { return earlier.at + kOwnExitMemory < exit.at; });
  if (node.own_exits.size() == kOwnExitsMax) node.own_exits.erase(node.own_exits.begin());
  node.own_exits.push_back(exit);
  SaveNode(std::move(node), cluster);
}

void ApplyToNode(const NodeConnected& connected, const Event& event, Cluster& cluster) {
  Node node = NodeOrNew(cluster, connected.node);
  if (connected.session < node.session) return;
  if (node.incarnation != connected.incarnation) node.applied_revision = 0;
  node.name = connected.name;
  node.incarnation = connected.incarnation;
  node.version = connected.version;
  node.slots = connected.slots;
  node.data_address = connected.data_address;
  node.storage_problem = connected.storage_problem;
  node.gpu_driver = connected.gpu_driver;
  node.gpu_problem = connected.gpu_problem;
  node.data_roots = connected.data_roots;
  node.connected = true;
  node.leaving = false;
  node.session = connected.session;
  SetRanks(connected.ranks, event, cluster, node);
  SaveNode(std::move(node), cluster);
}

void ApplyToNode(const NodeDisconnected& disconnected, const Event&, Cluster& cluster) {
  Node node = NodeOrNew(cluster, disconnected.node);
  if (node.session != disconnected.session) return;
  node.connected = false;
  node.load.reset();
  node.slot_use.clear();
  SaveNode(std::move(node), cluster);
}

void ApplyToNode(const NodeReported& reported, const Event& event, Cluster& cluster) {
  Node node = NodeOrNew(cluster, reported.node);
  if (node.session != reported.session) return;
  node.applied_revision = std::max(node.applied_revision, reported.applied_revision);
  std::erase_if(node.withdrawn,
                [&](const auto& entry) { return entry.second <= node.applied_revision; });
  for (Slot& slot : node.slots) {
    const auto problem = reported.slot_problems.find(slot.id);
    slot.problem = problem == reported.slot_problems.end() ? "" : problem->second;
  }
  node.leaving = reported.leaving;
  if (reported.load) node.load = reported.load;
  node.slot_use = reported.slot_use;
  SetRanks(reported.ranks, event, cluster, node);
  SaveNode(std::move(node), cluster);
}

void ApplyToNode(const NodeCordoned& cordoned, const Event& event, Cluster& cluster) {
  Node node = NodeOrNew(cluster, cordoned.node);
  if (node.name.empty()) node.name = cordoned.name;
  node.cordon = Cordon{cordoned.drain, cordoned.reason, event.actor, event.at};
  SaveNode(std::move(node), cluster);
}

void ApplyToNode(const NodeUncordoned& uncordoned, const Event&, Cluster& cluster) {
  Node node = NodeOrNew(cluster, uncordoned.node);
  node.cordon.reset();
  node.own_exits.clear();
  SaveNode(std::move(node), cluster);
}

}  // namespace gp::coordinator

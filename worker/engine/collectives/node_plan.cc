#include "worker/engine/collectives/node_plan.h"

#include <algorithm>

namespace gp::engine {
namespace {

bool AllReachEachOther(const std::vector<std::vector<bool>>& reaches,
                       const std::vector<size_t>& members, size_t rank) {
  return std::all_of(members.begin(), members.end(),
                     [&](size_t member) { return reaches[member][rank] && reaches[rank][member]; });
}

std::vector<std::vector<int>> RanksByNode(const std::vector<size_t>& node_of) {
  std::vector<std::vector<int>> nodes;
  for (size_t rank = 0; rank < node_of.size(); ++rank) {
    if (nodes.size() <= node_of[rank]) nodes.resize(node_of[rank] + 1);
    nodes[node_of[rank]].push_back(static_cast<int>(rank));
  }
  return nodes;
}

}  // namespace

std::vector<size_t> NodesOf(const std::vector<std::vector<bool>>& reaches) {
  std::vector<size_t> node_of;
  std::vector<std::vector<size_t>> nodes;
  for (size_t rank = 0; rank < reaches.size(); ++rank) {
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto& members) {
      return AllReachEachOther(reaches, members, rank);
    });
    node_of.push_back(static_cast<size_t>(found - nodes.begin()));
    if (found == nodes.end()) nodes.emplace_back();
    nodes[node_of.back()].push_back(rank);
  }
  return node_of;
}

NodePlan::NodePlan(const TreePlan& whole, const std::vector<size_t>& node_of) {
  const std::vector<std::vector<int>> nodes = RanksByNode(node_of);
  const size_t own_node = node_of[whole.own];
  mates = nodes[own_node];
  const auto self = std::find(mates.begin(), mates.end(), static_cast<int>(whole.own));
  place = static_cast<size_t>(self - mates.begin());

  SplitPlan split = SplitByGroup(whole, node_of);
  within = std::move(split.within[own_node]);
  across = std::move(split.across);
  for (const size_t leaf : across.leaves[own_node]) own_leaves.push_back(split.remaining[leaf]);

  carriers = mates.size();
  for (const auto& ranks : nodes) carriers = std::min(carriers, ranks.size());
  if (!carries()) return;
  for (const auto& ranks : nodes) counterparts.push_back(ranks[place]);
}

}  // namespace gp::engine

#include "worker/engine/collectives/tree_plan.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace gp::engine {
namespace {

// 16 floats: a cache line.
constexpr size_t kPartAlignment = 16;

void CheckShards(int logical_shards, int world_size) {
  const bool power_of_two = logical_shards > 0 && (logical_shards & (logical_shards - 1)) == 0;
  if (power_of_two && world_size >= 1 && world_size <= logical_shards) return;
  throw std::logic_error(std::to_string(logical_shards) + " logical shards for " +
                         std::to_string(world_size) + " ranks");
}

// The group of each leaf.
std::vector<size_t> GroupsOfLeaves(const TreePlan& whole, const std::vector<size_t>& group_of) {
  std::vector<size_t> groups(whole.leaf_count());
  for (size_t p = 0; p < whole.participants(); ++p) {
    for (const size_t leaf : whole.leaves[p]) groups[leaf] = group_of[p];
  }
  return groups;
}

}  // namespace

size_t TreePlan::leaf_count() const {
  size_t count = 0;
  for (const auto& own_leaves : leaves) count += own_leaves.size();
  return count;
}

TreePlan PlanOfRanks(int logical_shards, int world_size, int rank) {
  CheckShards(logical_shards, world_size);
  TreePlan plan;
  plan.own = static_cast<size_t>(rank);
  plan.order = ReductionOrder(logical_shards, LeavesOfGroup(logical_shards, world_size));
  size_t leaf = 0;
  for (int r = 0; r < world_size; ++r) {
    auto& leaves = plan.leaves.emplace_back();
    const auto own = AlignedSubtrees(OwnedShards(logical_shards, r, world_size));
    for (size_t i = 0; i < own.size(); ++i) leaves.push_back(leaf++);
  }
  return plan;
}

SplitPlan SplitByGroup(const TreePlan& whole, const std::vector<size_t>& group_of) {
  const size_t groups = *std::max_element(group_of.begin(), group_of.end()) + 1;
  const std::vector<size_t> group_of_leaf = GroupsOfLeaves(whole, group_of);
  SplitPlan split;
  split.within.resize(groups);
  split.across.own = group_of[whole.own];
  split.across.leaves.resize(groups);
  // A leaf counts as shared when it holds, or was added to, a sum over more than one group.
  std::vector<bool> shared(group_of_leaf.size());
  std::vector<bool> absorbed(group_of_leaf.size());
  std::vector<Addition> rest;
  for (const Addition& addition : whole.order) {
    const auto into = static_cast<size_t>(addition.into);
    const auto from = static_cast<size_t>(addition.from);
    if (!shared[into] && !shared[from] && group_of_leaf[into] == group_of_leaf[from]) {
      split.within[group_of_leaf[into]].push_back(addition);
      absorbed[from] = true;
    } else {
      shared[into] = true;
      rest.push_back(addition);
    }
  }
  std::vector<int> number(group_of_leaf.size());
  for (size_t leaf = 0; leaf < group_of_leaf.size(); ++leaf) {
    if (absorbed[leaf]) continue;
    number[leaf] = static_cast<int>(split.remaining.size());
    split.across.leaves[group_of_leaf[leaf]].push_back(split.remaining.size());
    split.remaining.push_back(leaf);
  }
  for (const Addition& addition : rest) {
    split.across.order.push_back(
        {number[static_cast<size_t>(addition.into)], number[static_cast<size_t>(addition.from)]});
  }
  return split;
}

ElementRange PartOf(size_t count, size_t part, size_t parts) {
  const auto boundary = [=](size_t p) {
    return p == parts ? count : count * p / parts / kPartAlignment * kPartAlignment;
  };
  return {boundary(part), boundary(part + 1)};
}

}  // namespace gp::engine

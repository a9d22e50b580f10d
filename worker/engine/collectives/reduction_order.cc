#include "worker/engine/collectives/reduction_order.h"

#include <stdexcept>

namespace gp::engine {
namespace {

[[noreturn]] void ThrowNoTree() {
  throw std::logic_error("the leaves are not the subtrees of one tree");
}

// Emits the additions of tree node `node` whose first leaf is `*leaf`, and moves `*leaf` past its
// last one.
void Visit(ShardRange node, const std::vector<ShardRange>& leaves, int* leaf,
           std::vector<Addition>* order) {
  const int first_leaf = *leaf;
  if (static_cast<size_t>(first_leaf) < leaves.size() &&
      leaves[static_cast<size_t>(first_leaf)] == node) {
    ++*leaf;
    return;
  }
  if (node.count < 2) ThrowNoTree();
  const int half = node.count / 2;
  Visit({node.first, half}, leaves, leaf, order);
  const int right_leaf = *leaf;
  Visit({node.first + half, half}, leaves, leaf, order);
  order->push_back({first_leaf, right_leaf});
}

}  // namespace

std::vector<ShardRange> LeavesOfGroup(int logical_shards, int world_size) {
  std::vector<ShardRange> leaves;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto own = AlignedSubtrees(OwnedShards(logical_shards, rank, world_size));
    leaves.insert(leaves.end(), own.begin(), own.end());
  }
  return leaves;
}

std::vector<Addition> ReductionOrder(int logical_shards, const std::vector<ShardRange>& leaves) {
  std::vector<Addition> order;
  int leaf = 0;
  Visit({0, logical_shards}, leaves, &leaf, &order);
  if (static_cast<size_t>(leaf) != leaves.size()) ThrowNoTree();
  return order;
}

void AddInto(float* into, const float* from, size_t count) {
  for (size_t i = 0; i < count; ++i) into[i] += from[i];
}

}  // namespace gp::engine

// Plans an all-reduce when some ranks share memory. The ranks of a node first add their own leaves,
// each rank a part of the elements. Then the first ranks of each node exchange the nodes' sums.
// Pure functions and values.
#pragma once

#include <cstddef>
#include <vector>

#include "worker/engine/collectives/tree_plan.h"

namespace gp::engine {

// The node of each rank, from 0 without gaps, in the order of their first ranks. `reaches[a][b]`:
// rank a holds memory of rank b. A rank belongs to a node when it and every earlier rank of the
// node reach each other. So every rank computes the same nodes from the same table.
std::vector<size_t> NodesOf(const std::vector<std::vector<bool>>& reaches);

struct NodePlan {
  NodePlan(const TreePlan& whole, const std::vector<size_t>& node_of);

  std::vector<int> mates;          // ranks of this node, ascending, including this one
  size_t place = 0;                // index of this rank in mates
  std::vector<Addition> within;    // additions within this node, in the whole plan's leaves
  std::vector<size_t> own_leaves;  // leaves of the whole plan that this node passes on
  TreePlan across;                 // between nodes
  // The number of ranks of the smallest node. Carrier i of a node exchanges part i of the elements
  // with the carriers i of the other nodes.
  size_t carriers = 0;
  std::vector<int> counterparts;  // by node; empty unless this rank is a carrier

  bool one_node() const { return across.participants() == 1; }
  bool carries() const { return place < carriers; }
};

}  // namespace gp::engine

// Which ranks of a group share memory, and who does what in an all-reduce then: the ranks of a node
// add what they can add alone, each a part of the elements, and the first ranks of each node carry
// the nodes' sums across. Pure functions and values.
#pragma once

#include <cstddef>
#include <vector>

#include "worker/engine/collectives/tree_plan.h"

namespace gp::engine {

// The node of each rank, from 0 without gaps, in the order of their first ranks. `reaches[a][b]`:
// rank a holds memory of rank b. A rank is of a node when it and every earlier rank of the node
// reach each other; so every rank computes the same nodes from the same table.
std::vector<size_t> NodesOf(const std::vector<std::vector<bool>>& reaches);

struct NodePlan {
  NodePlan(const TreePlan& whole, const std::vector<size_t>& node_of);

  std::vector<int> mates;          // ranks of the own node, ascending, the own one included
  size_t place = 0;                // own place among them
  std::vector<Addition> within;    // what the own node adds alone, in the whole plan's leaves
  std::vector<size_t> own_leaves;  // leaves of the whole plan that the own node passes on
  TreePlan across;                 // between nodes
  // Each node has at least as many ranks as this: carrier i of a node takes part i of the elements
  // across, with the carriers i of the other nodes.
  size_t carriers = 0;
  std::vector<int> counterparts;  // by node; empty unless this rank is a carrier

  bool one_node() const { return across.participants() == 1; }
  bool carries() const { return place < carriers; }
};

}  // namespace gp::engine

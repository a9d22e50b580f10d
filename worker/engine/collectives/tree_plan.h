// Plans which participant adds which partial sums of a group, along the fixed tree (shard_plan.h).
// Pure functions and values.
#pragma once

#include <cstddef>
#include <vector>

#include "worker/engine/collectives/reduction_order.h"

namespace gp::engine {

// Participants that hold leaves of one tree, and the additions that finish it. Leaves are numbered
// from 0 in the order of the shards; the sum ends in leaf 0.
struct TreePlan {
  size_t own = 0;                           // this participant's number
  std::vector<std::vector<size_t>> leaves;  // the leaves of each participant, ascending
  std::vector<Addition> order;

  size_t participants() const { return leaves.size(); }
  size_t leaf_count() const;
};

// Every rank is a participant. std::logic_error unless V is a power of two >= the number of ranks.
TreePlan PlanOfRanks(int logical_shards, int world_size, int rank);

// A tree in two parts: the additions that each group of participants can do alone, and the rest.
struct SplitPlan {
  std::vector<std::vector<Addition>> within;  // by group, in the whole plan's leaf numbers
  std::vector<size_t> remaining;              // leaves of the whole plan that `across` still adds
  TreePlan across;  // participants: the groups; its leaf i is `remaining[i]`
};

// `group_of[p]` is the group of participant p, from 0 without gaps. The additions are the whole
// plan's, so the bits are too.
SplitPlan SplitByGroup(const TreePlan& whole, const std::vector<size_t>& group_of);

// Part `part` of `count` elements cut into `parts`, at whole cache lines.
struct ElementRange {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
};
ElementRange PartOf(size_t count, size_t part, size_t parts);

}  // namespace gp::engine

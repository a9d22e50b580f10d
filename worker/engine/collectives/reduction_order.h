// The additions that turn the partial sums of all ranks into the sum over all shards, in the order
// of the fixed tree (shard_plan.h). Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "worker/engine/collectives/shard_plan.h"

namespace gp::engine {

// leaf[into] += leaf[from].
struct Addition {
  int into = 0;
  int from = 0;
  bool operator==(const Addition&) const = default;
};

// Every rank's aligned subtrees, rank after rank: the leaves from which the tree is completed.
std::vector<ShardRange> LeavesOfGroup(int logical_shards, int world_size);

// After these additions, in this order, leaf 0 holds the sum. `leaves` are consecutive aligned
// subtrees that cover [0, logical_shards); std::logic_error when they do not.
std::vector<Addition> ReductionOrder(int logical_shards, const std::vector<ShardRange>& leaves);

// into[i] += from[i] for i < count.
void AddInto(float* into, const float* from, size_t count);

}  // namespace gp::engine

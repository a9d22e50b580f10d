// Which logical shards a rank owns and how their gradients are added. V is a power of two that
// never changes during a run (runspec::BatchPlan); rank r of W owns the contiguous shards
// [r*V/W, (r+1)*V/W). The sum over all shards follows one binary tree: node [a, a + 2^k) with a a
// multiple of 2^k is left + right. Because the tree does not depend on W, neither do the bits of
// the sum. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace gp::engine {

struct ShardRange {
  int first = 0;
  int count = 0;
  bool operator==(const ShardRange&) const = default;
};

ShardRange OwnedShards(int logical_shards, int rank, int world_size);

// The maximal aligned subtrees of [first, first + count), in ascending order; each range's count is
// a power of two.
std::vector<ShardRange> AlignedSubtrees(ShardRange owned);

}  // namespace gp::engine

#include "worker/engine/collectives/shard_plan.h"

#include <bit>

namespace gp::engine {

ShardRange OwnedShards(int logical_shards, int rank, int world_size) {
  const auto boundary = [=](int r) {
    return static_cast<int>(static_cast<int64_t>(r) * logical_shards / world_size);
  };
  return {boundary(rank), boundary(rank + 1) - boundary(rank)};
}

std::vector<ShardRange> AlignedSubtrees(ShardRange owned) {
  std::vector<ShardRange> subtrees;
  int first = owned.first;
  int left = owned.count;
  while (left > 0) {
    const auto fits = static_cast<int>(std::bit_floor(static_cast<unsigned>(left)));
    // The largest power of two that divides `first`; every one divides 0.
    const int aligned = first == 0 ? fits : (first & -first);
    const int count = aligned < fits ? aligned : fits;
    subtrees.push_back({first, count});
    first += count;
    left -= count;
  }
  return subtrees;
}

}  // namespace gp::engine

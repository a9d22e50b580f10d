// Inputs for tests of communicators, and the expected sums.
#pragma once

#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/collectives/shard_plan.h"

namespace gp::engine {

inline constexpr int kLogicalShards = 8;

// A random gradient for each logical shard.
inline std::vector<std::vector<float>> RandomShards(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, 1.0f);
  std::vector<std::vector<float>> shards(kLogicalShards, std::vector<float>(count));
  for (auto& shard : shards) {
    for (float& value : shard) value = normal(generator);
  }
  return shards;
}

// The sum of the shards below `node`, by plain recursion along the tree.
inline std::vector<float> PlainTree(const std::vector<std::vector<float>>& shards,
                                    ShardRange node) {
  if (node.count == 1) return shards[static_cast<size_t>(node.first)];
  const int half = node.count / 2;
  std::vector<float> left = PlainTree(shards, {node.first, half});
  const std::vector<float> right = PlainTree(shards, {node.first + half, half});
  for (size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  return left;
}

// What `member` contributes: the sum of each of its aligned subtrees.
inline std::vector<std::vector<float>> PartialsOf(const Communicator& member,
                                                  const std::vector<std::vector<float>>& shards) {
  std::vector<std::vector<float>> partials;
  const auto owned = OwnedShards(kLogicalShards, member.rank(), member.size());
  for (const ShardRange& subtree : AlignedSubtrees(owned)) {
    partials.push_back(PlainTree(shards, subtree));
  }
  return partials;
}

inline std::vector<std::span<float>> Spans(std::vector<std::vector<float>>& buffers) {
  return {buffers.begin(), buffers.end()};
}

inline bool SameBits(std::span<const float> left, std::span<const float> right) {
  if (left.size() != right.size()) return false;
  return left.empty() || std::memcmp(left.data(), right.data(), left.size_bytes()) == 0;
}

}  // namespace gp::engine

#include "worker/engine/step/shard_sum.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace gp::engine {
namespace {

// Terms of very different sizes, so that the sum reveals the order of the additions.
float GradientOf(int shard) { return shard % 2 == 0 ? 1.0f : 1e-7f * static_cast<float>(shard); }

float TreeSum(ShardRange node) {
  if (node.count == 1) return GradientOf(node.first);
  const int half = node.count / 2;
  return TreeSum({node.first, half}) + TreeSum({node.first + half, half});
}

void Finish(ShardSum& sum) {
  sum.Finish([](const ShardSum::Addition& one) {
    for (size_t i = 0; i < one.into.size(); ++i) one.into[i] += one.from[i];
  });
}

class Gradients {
 public:
  std::span<float> Allocate() { return memory_.emplace_back(3); }

 private:
  std::deque<std::vector<float>> memory_;
};

TEST(ShardSum, LeavesOneSumPerAlignedSubtree) {
  for (const ShardRange owned :
       {ShardRange{0, 1}, ShardRange{0, 8}, ShardRange{0, 3}, ShardRange{1, 7}, ShardRange{5, 3},
        ShardRange{2, 5}, ShardRange{3, 1}}) {
    Gradients gradients;
    ShardSum sum(owned, [&] { return gradients.Allocate(); });
    for (int step = 0; step < 3; ++step) {
      for (int shard = owned.first; shard < owned.first + owned.count; ++shard) {
        for (float& value : sum.Next()) value = GradientOf(shard);
        Finish(sum);
      }
      const auto partials = sum.TakePartials();
      const auto subtrees = AlignedSubtrees(owned);
      ASSERT_EQ(partials.size(), subtrees.size());
      for (size_t i = 0; i < subtrees.size(); ++i) {
        EXPECT_EQ(partials[i][2], TreeSum(subtrees[i]))
            << "first " << owned.first << " count " << owned.count << " subtree " << i;
      }
    }
  }
}

TEST(ShardSum, KeepsNoMoreBuffersThanTheTreeIsDeep) {
  Gradients gradients;
  const auto allocate = [&] { return gradients.Allocate(); };
  EXPECT_EQ(ShardSum({0, 1}, allocate).buffer_count(), 1u);
  EXPECT_EQ(ShardSum({0, 2}, allocate).buffer_count(), 2u);
  EXPECT_EQ(ShardSum({0, 8}, allocate).buffer_count(), 4u);
}

}  // namespace
}  // namespace gp::engine

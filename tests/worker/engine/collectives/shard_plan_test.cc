#include "worker/engine/collectives/shard_plan.h"

#include <gtest/gtest.h>

#include "worker/engine/collectives/reduction_order.h"

namespace gp::engine {
namespace {

TEST(ShardPlan, RanksOwnContiguousShardsThatCoverAll) {
  for (const int shards : {1, 2, 4, 8, 64}) {
    for (int world_size = 1; world_size <= shards; ++world_size) {
      int next = 0;
      for (int rank = 0; rank < world_size; ++rank) {
        const ShardRange owned = OwnedShards(shards, rank, world_size);
        EXPECT_EQ(owned.first, next);
        EXPECT_GE(owned.count, 1);
        next += owned.count;
      }
      EXPECT_EQ(next, shards);
    }
  }
}

TEST(ShardPlan, SubtreesAreTheLargestAlignedOnes) {
  using Ranges = std::vector<ShardRange>;
  EXPECT_EQ(AlignedSubtrees({0, 8}), (Ranges{{0, 8}}));
  EXPECT_EQ(AlignedSubtrees({0, 3}), (Ranges{{0, 2}, {2, 1}}));
  EXPECT_EQ(AlignedSubtrees({1, 7}), (Ranges{{1, 1}, {2, 2}, {4, 4}}));
  EXPECT_EQ(AlignedSubtrees({3, 2}), (Ranges{{3, 1}, {4, 1}}));
  EXPECT_EQ(AlignedSubtrees({6, 2}), (Ranges{{6, 2}}));
  EXPECT_EQ(AlignedSubtrees({5, 0}), Ranges{});
}

TEST(ReductionOrder, AddsEveryLeafOnceAlongTheTree) {
  // 8 shards on 3 ranks: {0,1} | {2,3} {4} | {5} {6,7}. One group of braces is a subtree, |
  // separates ranks.
  const auto leaves = LeavesOfGroup(8, 3);
  ASSERT_EQ(leaves, (std::vector<ShardRange>{{0, 2}, {2, 2}, {4, 1}, {5, 1}, {6, 2}}));
  EXPECT_EQ(ReductionOrder(8, leaves), (std::vector<Addition>{{0, 1}, {2, 3}, {2, 4}, {0, 2}}));
}

TEST(ReductionOrder, LeavesThatMakeUpNoTreeAreRefused) {
  EXPECT_THROW(ReductionOrder(8, {}), std::logic_error);
  EXPECT_THROW(ReductionOrder(8, {{0, 4}}), std::logic_error) << "a part is missing";
  EXPECT_THROW(ReductionOrder(8, {{0, 4}, {4, 4}, {8, 4}}), std::logic_error) << "one too many";
  EXPECT_THROW(ReductionOrder(8, {{0, 4}, {2, 2}, {6, 2}}), std::logic_error) << "they overlap";
  EXPECT_THROW(ReductionOrder(8, {{0, 2}, {2, 4}, {6, 2}}), std::logic_error) << "not aligned";
}

TEST(ReductionOrder, OneLeafNeedsNoAddition) {
  EXPECT_TRUE(ReductionOrder(8, LeavesOfGroup(8, 1)).empty());
}

}  // namespace
}  // namespace gp::engine

#include "worker/engine/collectives/node_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::engine {
namespace {

using testing::ElementsAre;
using Table = std::vector<std::vector<bool>>;

TEST(NodePlan, ANodeIsRanksThatAllReachEachOther) {
  EXPECT_THAT(NodesOf(Table{{false, true}, {true, false}}), ElementsAre(0, 0));
  EXPECT_THAT(NodesOf(Table{{false, true}, {false, false}}), ElementsAre(0, 1)) << "one way only";
  // Ranks 0 and 2 reach each other; so do 1 and 3.
  EXPECT_THAT(NodesOf(Table{{false, false, true, false},
                            {false, false, false, true},
                            {true, false, false, false},
                            {false, true, false, false}}),
              ElementsAre(0, 1, 0, 1));
  // Rank 2 reaches rank 1 but not rank 0, which is on the same node as rank 1.
  EXPECT_THAT(NodesOf(Table{{false, true, false}, {true, false, true}, {false, true, false}}),
              ElementsAre(0, 0, 1));
}

TEST(NodePlan, AWholeNodeAddsAllAloneAndACarrierHasItsCounterparts) {
  const NodePlan alone(PlanOfRanks(4, 4, 2), {0, 0, 0, 0});
  EXPECT_TRUE(alone.one_node());
  EXPECT_EQ(alone.place, 2u);
  EXPECT_EQ(alone.within, PlanOfRanks(4, 4, 2).order);

  const NodePlan pairs(PlanOfRanks(4, 4, 3), {0, 0, 1, 1});
  EXPECT_THAT(pairs.mates, ElementsAre(2, 3));
  EXPECT_THAT(pairs.within, ElementsAre(Addition{2, 3}));
  EXPECT_THAT(pairs.own_leaves, ElementsAre(2u));
  EXPECT_EQ(pairs.across.leaf_count(), 2u);
  EXPECT_EQ(pairs.carriers, 2u);
  EXPECT_THAT(pairs.counterparts, ElementsAre(1, 3));
}

TEST(NodePlan, NodesOfDifferentSizesShareAsManyCarriersAsTheSmallest) {
  const NodePlan first(PlanOfRanks(4, 3, 0), {0, 0, 1});
  EXPECT_EQ(first.carriers, 1u);
  EXPECT_THAT(first.counterparts, ElementsAre(0, 2));
  const NodePlan second(PlanOfRanks(4, 3, 1), {0, 0, 1});
  EXPECT_FALSE(second.carries());
}

TEST(NodePlan, RanksThatAlternateCanAddNothingAlone) {
  const NodePlan plan(PlanOfRanks(4, 4, 0), {0, 1, 0, 1});
  EXPECT_TRUE(plan.within.empty());
  EXPECT_THAT(plan.own_leaves, ElementsAre(0u, 2u));
  EXPECT_EQ(plan.across.order, PlanOfRanks(4, 4, 0).order);
}

TEST(TreePlan, PartsCoverAllElementsAtWholeCacheLines) {
  for (const size_t count : {0, 1, 15, 16, 1000, 12345}) {
    size_t end = 0;
    for (size_t part = 0; part < 3; ++part) {
      const ElementRange range = PartOf(count, part, 3);
      EXPECT_EQ(range.begin, end);
      EXPECT_EQ(range.begin % 16, 0u);
      end = range.end;
    }
    EXPECT_EQ(end, count);
  }
}

}  // namespace
}  // namespace gp::engine

#include "tokenizer/pair_table.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(PairTable, FindsWhatWasAdded) {
  PairTable table;
  EXPECT_EQ(table.Find(0, 0), kNoJoin);
  EXPECT_TRUE(table.Add(1, 2, MakeJoin(7, 300)));
  EXPECT_EQ(JoinedToken(table.Find(1, 2)), 300);
  EXPECT_EQ(table.Find(2, 1), kNoJoin) << "the order of a pair counts";
}

TEST(PairTable, APairIsAddedOnce) {
  PairTable table;
  EXPECT_TRUE(table.Add(1, 2, MakeJoin(7, 300)));
  EXPECT_FALSE(table.Add(1, 2, MakeJoin(8, 301)));
  EXPECT_EQ(JoinedToken(table.Find(1, 2)), 300);
}

TEST(PairTable, KeepsItsPairsWhenItGrows) {
  PairTable table;
  for (int32_t i = 0; i < 5000; ++i) ASSERT_TRUE(table.Add(i, i * 7, MakeJoin(i, i + 256)));
  for (int32_t i = 0; i < 5000; ++i) EXPECT_EQ(table.Find(i, i * 7), MakeJoin(i, i + 256));
  EXPECT_EQ(table.Find(5000, 35000), kNoJoin);
}

TEST(PairTable, TheSmallerRankIsTheSmallerJoin) {
  EXPECT_LT(MakeJoin(3, 900), MakeJoin(4, 100));
  EXPECT_LT(MakeJoin(INT32_MAX, INT32_MAX), kNoJoin);
}

}  // namespace
}  // namespace gp

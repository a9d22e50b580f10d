#include "tokenizer/piece_merger.h"

#include <gtest/gtest.h>

#include <vector>

namespace gp {
namespace {

// The ids are 0 for a and 1 for b. The pair "ab" has priority over "aa", and two "aa" join, too.
PairTable Pairs() {
  PairTable pairs;
  pairs.Add(0, 1, MakeJoin(0, 2));  // ab
  pairs.Add(0, 0, MakeJoin(1, 3));  // aa
  pairs.Add(3, 3, MakeJoin(2, 4));  // aaaa
  return pairs;
}

std::vector<int32_t> Merged(std::vector<int32_t> parts) {
  const PairTable pairs = Pairs();
  PieceMerger merger(pairs);
  merger.Merge(parts);
  return parts;
}

TEST(PieceMerger, TheSmallestRankGoesFirst) {
  EXPECT_EQ(Merged({0, 0, 1}), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(Merged({1, 0}), (std::vector<int32_t>{1, 0})) << "no merge";
}

TEST(PieceMerger, ARunIsJoinedFromItsFront) {
  EXPECT_EQ(Merged({0, 0, 0}), (std::vector<int32_t>{3, 0}));
  EXPECT_EQ(Merged({0, 0, 0, 0, 0}), (std::vector<int32_t>{4, 0}));
}

TEST(PieceMerger, LongPiecesAreJoinedAsShortOnes) {
  std::vector<int32_t> parts, expected;
  for (int i = 0; i < 500; ++i) {
    parts.insert(parts.end(), {0, 0, 0, 1, 1});
    expected.insert(expected.end(), {3, 2, 1});
  }
  EXPECT_EQ(Merged({0, 0, 0, 1, 1}), (std::vector<int32_t>{3, 2, 1}));
  EXPECT_EQ(Merged(parts), expected);
}

}  // namespace
}  // namespace gp

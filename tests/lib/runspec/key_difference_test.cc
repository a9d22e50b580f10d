// Goal: the differing keys are those whose values differ, as a run file has them.
#include "runspec/key_difference.h"

#include <gtest/gtest.h>

namespace gp::runspec {
namespace {

TEST(DifferingKeys, ListsEachDifferentValueInTheOrderOfTheSchema) {
  RunSpec before, after;
  after.seed = before.seed + 1;
  after.optimizer.lr = 5e-4;
  after.data.text = {"/a.txt"};
  after.name = "another";
  const auto differences = DifferingKeys(before, after);
  ASSERT_EQ(differences.size(), 3u);
  EXPECT_EQ(differences[0].key, "data.text");
  EXPECT_EQ(differences[0].before, "[]");
  EXPECT_EQ(differences[0].after, "[/a.txt]");
  EXPECT_EQ(differences[1].key, "optimizer.lr");
  EXPECT_EQ(differences[1].before, "0.001");
  EXPECT_EQ(differences[1].after, "0.0005");
  EXPECT_EQ(differences[2].key, "seed");
}

TEST(DifferingKeys, EqualRunsHaveNone) { EXPECT_TRUE(DifferingKeys({}, {}).empty()); }

}  // namespace
}  // namespace gp::runspec

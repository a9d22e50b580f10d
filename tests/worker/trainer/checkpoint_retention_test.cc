#include "worker/trainer/checkpoint_retention.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gp::engine {
namespace {

using Names = std::vector<std::string>;

const std::vector<StoredCheckpoint> kStored = {
    {"c", 30, 1.5}, {"a", 10, 2.0}, {"b", 20, 1.0}, {"e", 50, 1.7}, {"d", 40, std::nullopt}};

runspec::CheckpointSpec Keep(int last, bool best) {
  runspec::CheckpointSpec spec;
  spec.keep_last = last;
  spec.keep_best = best;
  return spec;
}

TEST(CheckpointRetention, KeepsTheNewestAndTheBest) {
  EXPECT_EQ(ExpendableCheckpoints(kStored, Keep(2, true)), (Names{"a", "c"}));
}

TEST(CheckpointRetention, WithoutBestOnlyTheNewest) {
  EXPECT_EQ(ExpendableCheckpoints(kStored, Keep(2, false)), (Names{"a", "b", "c"}));
}

TEST(CheckpointRetention, KeepsTheFirstAtOrAfterEachMultiple) {
  runspec::CheckpointSpec spec = Keep(1, false);
  spec.keep_every = 20;
  EXPECT_EQ(ExpendableCheckpoints(kStored, spec), (Names{"a", "c"}));
  spec.keep_every = 25;
  EXPECT_EQ(ExpendableCheckpoints(kStored, spec), (Names{"a", "b", "d"}));
  spec.keep_every = 100;
  EXPECT_EQ(ExpendableCheckpoints(kStored, spec), (Names{"a", "b", "c", "d"}));
  // The result does not depend on earlier removals, because checkpoints kept by keep_every are
  // never removed.
  spec.keep_every = 25;
  EXPECT_EQ(ExpendableCheckpoints({{"c", 30}, {"d", 40}, {"e", 50}, {"f", 60}, {"g", 70}}, spec),
            (Names{"d", "f"}));
}

// Uses the coordinator's rule, so that a standalone run and a run of the service keep the same
// checkpoints.
TEST(CheckpointRetention, OfEquallyGoodOnesTheLaterIsTheBest) {
  const std::vector<StoredCheckpoint> equal = {
      {"a", 10, 1.0}, {"b", 20, 1.0}, {"c", 30, 1.5}, {"d", 40, 1.5}};
  EXPECT_EQ(ExpendableCheckpoints(equal, Keep(1, true)), (Names{"a", "c"}));
}

TEST(CheckpointRetention, NeverRemovesTheLastOne) {
  EXPECT_EQ(ExpendableCheckpoints(kStored, Keep(0, false)), (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(ExpendableCheckpoints({}, Keep(2, true)), Names{});
  EXPECT_EQ(ExpendableCheckpoints(kStored, Keep(9, false)), Names{});
}

TEST(CheckpointRetention, ALossThatIsNoNumberIsTheWorst) {
  const std::vector<StoredCheckpoint> diverged = {
      {"a", 10, NAN}, {"b", 20, 2.0}, {"c", 30, NAN}, {"d", 40, 3.0}};
  EXPECT_EQ(ExpendableCheckpoints(diverged, Keep(1, true)), (Names{"a", "c"}));
}

}  // namespace
}  // namespace gp::engine

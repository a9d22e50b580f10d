#include "worker/engine/step/collective_patience.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

using std::chrono::milliseconds;

CollectivePatience After(int steps, double seconds) {
  CollectivePatience patience;
  for (int i = 0; i < steps; ++i) patience.StepTook(seconds);
  return patience;
}

TEST(CollectivePatience, IsLongUntilSomeStepsAreKnown) {
  EXPECT_EQ(After(0, 1).ForStep(), CollectivePatience::kLong);
  EXPECT_EQ(After(4, 1).ForStep(), CollectivePatience::kLong);
  EXPECT_EQ(After(5, 1).ForStep(), CollectivePatience::kShortest);
}

TEST(CollectivePatience, FollowsTheMedianOfTheLastSteps) {
  CollectivePatience patience = After(31, 30);
  EXPECT_EQ(patience.ForStep(), milliseconds(600000));
  for (int i = 0; i < 15; ++i) patience.StepTook(1000);
  EXPECT_EQ(patience.ForStep(), milliseconds(600000)) << "fifteen slow steps of thirty-one";
  patience.StepTook(1000);
  EXPECT_EQ(patience.ForStep(), milliseconds(20000000));
  for (int i = 0; i < 31; ++i) patience.StepTook(0.01);
  EXPECT_EQ(patience.ForStep(), CollectivePatience::kShortest);
}

TEST(CollectivePatience, IsLongOnceAfterAnInterruption) {
  CollectivePatience patience = After(10, 1);
  patience.Interrupted();
  EXPECT_EQ(patience.ForStep(), CollectivePatience::kLong);
  EXPECT_EQ(patience.ForStep(), CollectivePatience::kShortest);
}

}  // namespace
}  // namespace gp::engine

#include "worker/engine/step/collective_timeout.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

using std::chrono::milliseconds;

CollectiveTimeout After(int steps, double seconds) {
  CollectiveTimeout timeout;
  for (int i = 0; i < steps; ++i) timeout.StepTook(seconds);
  return timeout;
}

TEST(CollectiveTimeout, IsLongUntilSomeStepsAreKnown) {
  EXPECT_EQ(After(0, 1).ForStep(), CollectiveTimeout::kLong);
  EXPECT_EQ(After(4, 1).ForStep(), CollectiveTimeout::kLong);
  EXPECT_EQ(After(5, 1).ForStep(), CollectiveTimeout::kShortest);
}

TEST(CollectiveTimeout, FollowsTheMedianOfTheLastSteps) {
  CollectiveTimeout timeout = After(31, 30);
  EXPECT_EQ(timeout.ForStep(), milliseconds(600000));
  for (int i = 0; i < 15; ++i) timeout.StepTook(1000);
  EXPECT_EQ(timeout.ForStep(), milliseconds(600000)) << "fifteen slow steps of thirty-one";
  timeout.StepTook(1000);
  EXPECT_EQ(timeout.ForStep(), milliseconds(20000000));
  for (int i = 0; i < 31; ++i) timeout.StepTook(0.01);
  EXPECT_EQ(timeout.ForStep(), CollectiveTimeout::kShortest);
}

TEST(CollectiveTimeout, IsLongOnceAfterAnInterruption) {
  CollectiveTimeout timeout = After(10, 1);
  timeout.Interrupted();
  EXPECT_EQ(timeout.ForStep(), CollectiveTimeout::kLong);
  EXPECT_EQ(timeout.ForStep(), CollectiveTimeout::kShortest);
}

}  // namespace
}  // namespace gp::engine

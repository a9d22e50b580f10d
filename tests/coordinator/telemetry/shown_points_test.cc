// Goal: each step of a run is shown once, with the point of the newest epoch that took it.
#include "coordinator/telemetry/shown_points.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

bool Shows(const ShownPoints& shown, Epoch epoch, int64_t step) {
  contract::TrainingPoint point;
  point.epoch = epoch;
  point.step = step;
  return shown.Shows(point);
}

EpochStart Steps(Epoch epoch, int64_t first, int64_t last) {
  return {.epoch = epoch, .first_step = first, .last_step = last};
}

TEST(ShownPoints, TheNewestEpochOfAStepIsShown) {
  const ShownPoints shown({Steps(1, 1, 100), Steps(2, 51, 120)});
  EXPECT_TRUE(Shows(shown, 1, 50));
  EXPECT_FALSE(Shows(shown, 1, 51));
  EXPECT_TRUE(Shows(shown, 2, 51));
  EXPECT_TRUE(Shows(shown, 2, 120));
}

TEST(ShownPoints, StepsThatANewerEpochHasNotReachedAgainAreNotShown) {
  const ShownPoints shown({Steps(1, 1, 100), Steps(2, 51, 60)});
  EXPECT_FALSE(Shows(shown, 1, 61));
  EXPECT_FALSE(Shows(shown, 1, 100));
}

TEST(ShownPoints, AnEpochThatWentBackFurtherCountsAgainstAllBeforeIt) {
  const ShownPoints shown({Steps(1, 1, 100), Steps(2, 101, 200), Steps(5, 41, 60)});
  EXPECT_TRUE(Shows(shown, 1, 40));
  EXPECT_FALSE(Shows(shown, 1, 41));
  EXPECT_FALSE(Shows(shown, 2, 101));
  EXPECT_TRUE(Shows(shown, 5, 41));
}

TEST(ShownPoints, AnEpochWithoutAStepHidesNothingAndIsShown) {
  const ShownPoints shown({Steps(1, 1, 100)});
  EXPECT_TRUE(Shows(shown, 1, 100));
  EXPECT_TRUE(Shows(shown, 2, 101));
}

}  // namespace
}  // namespace gp::coordinator

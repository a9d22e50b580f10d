#include "client/gpctl/faults/fault_timeline.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

v1::MetricPoint Point(int64_t step, uint64_t epoch, int64_t at_us) {
  v1::MetricPoint point;
  point.set_step(step);
  point.set_epoch(epoch);
  point.mutable_at()->set_seconds(at_us / 1'000'000);
  point.mutable_at()->set_nanos(static_cast<int>(at_us % 1'000'000) * 1000);
  return point;
}

v1::RunEvent Event(const std::string& kind, uint64_t epoch) {
  v1::RunEvent event;
  event.set_kind(kind);
  event.set_epoch(epoch);
  return event;
}

TEST(FaultTimeline, TheNextStepIsTheFirstOfTheNextGroup) {
  const std::vector<v1::MetricPoint> points = {Point(1, 1, 1'000'000), Point(2, 1, 2'000'000),
                                               Point(3, 1, 2'100'000), Point(4, 2, 2'250'000)};
  EXPECT_DOUBLE_EQ(SecondsToNextStep(points, {2'050'000, 1}).value(), 0.2);
  EXPECT_DOUBLE_EQ(SecondsToNextStep(points, {2'050'000, 0}).value(), 0.05);
  EXPECT_FALSE(SecondsToNextStep(points, {2'050'000, 2}).has_value());
  EXPECT_FALSE(SecondsToNextStep({}, {1, 0}).has_value());
}

TEST(FaultTimeline, StepsOfAPlacedEpochAreTakenAgain) {
  const std::vector<v1::MetricPoint> points = {Point(1, 1, 1), Point(2, 1, 2), Point(3, 1, 3),
                                               Point(2, 2, 4), Point(3, 2, 5), Point(4, 2, 6)};
  const auto redone = CountStepsRedone(points, {Event("placed", 1), Event("placed", 2)});
  EXPECT_EQ(redone.steps, 2);
  EXPECT_EQ(redone.from_checkpoint, 1);
}

TEST(FaultTimeline, ARunThatBeginsAtItsFirstStepAgainReadsNoCheckpoint) {
  const auto redone = CountStepsRedone({Point(1, 1, 1), Point(2, 1, 2), Point(1, 2, 3)},
                                       {Event("placed", 1), Event("placed", 2)});
  EXPECT_EQ(redone.steps, 2);
  EXPECT_EQ(redone.from_checkpoint, 0);
}

// The rank that leads a group after rank 0 died writes the newest step again.
TEST(FaultTimeline, AGroupThatGoesOnTakesNoStepAgain) {
  const auto redone = CountStepsRedone({Point(1, 1, 1), Point(2, 1, 2), Point(2, 2, 3)},
                                       {Event("placed", 1), Event("reconfigured", 2)});
  EXPECT_EQ(redone.steps, 0);
  EXPECT_EQ(redone.from_checkpoint, 0);
}

TEST(FaultTimeline, AMissingStepIsCounted) {
  EXPECT_EQ(CountMissingSteps({}), 0);
  EXPECT_EQ(CountMissingSteps({Point(2, 1, 1), Point(3, 1, 2), Point(3, 2, 3)}), 0);
  EXPECT_EQ(CountMissingSteps({Point(1, 1, 1), Point(4, 1, 2)}), 2);
}

TEST(FaultTimeline, AQuantileIsOneOfTheValues) {
  EXPECT_EQ(Quantile({}, 0.5), 0);
  EXPECT_EQ(Quantile({3}, 0.99), 3);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 0.99), 4);
}

}  // namespace
}  // namespace gp::gpctl

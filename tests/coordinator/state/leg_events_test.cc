// Pauses, and the legs of a run.
#include "coordinator/state/leg_events.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_cluster.h"

namespace gp::coordinator {
namespace {

TEST(LegEvents, ARunBeginsWithItsFirstLegWhichEndsWithIt) {
  Cluster cluster = ClusterAfter(1);
  const Leg begun = cluster.FindRun(kSampleRun)->leg;
  EXPECT_EQ(begun.number, 1);
  EXPECT_EQ(begun.why_begun, "submitted");
  EXPECT_EQ(begun.why_ended, "");
  EXPECT_EQ(begun.engine.device, SampleSubmission().device);
  EXPECT_EQ(begun.engine.logical_shards, SampleSubmission().logical_shards);
  const Event ended{kSampleRun, At(9), "", "",
                    RunEnded{RunState::kFailed, "the disk is full", true}};
  EXPECT_TRUE(Apply(ended, cluster).ok());
  EXPECT_EQ(cluster.FindRun(kSampleRun)->leg.why_ended, "the disk is full");
}

TEST(LegEvents, ARunWithoutSlotsPausesAtOnceAndWaitsAgainWhenItIsResumed) {
  Cluster cluster = ClusterAfter(2);  // it is queued
  const auto apply = [&](EventBody body) {
    return Apply({kSampleRun, At(9), "user", "", std::move(body)}, cluster);
  };
  EXPECT_FALSE(apply(RunResumed{}).ok()) << "it is not paused";
  ASSERT_TRUE(apply(PauseRequested{}).ok());
  EXPECT_EQ(cluster.FindRun(kSampleRun)->state, RunState::kPaused);
  EXPECT_EQ(cluster.FindRun(kSampleRun)->reason, "paused by user");
  ASSERT_TRUE(apply(RunResumed{}).ok());
  EXPECT_EQ(cluster.FindRun(kSampleRun)->state, RunState::kQueued);
}

TEST(LegEvents, ALegBeginsWhenTheSlotsAreFreeAndSupersedesLaterSteps) {
  Cluster cluster = ClusterAfter(9);  // steps 10 and 20 are sealed; it runs in epoch 2
  const auto apply = [&](EventBody body) {
    return Apply({kSampleRun, At(9), "user", "leg-2", std::move(body)}, cluster);
  };
  EXPECT_FALSE(apply(LegBegun{}).ok()) << "nobody asked for one";
  ASSERT_TRUE(apply(LegRequested{SampleSubmission(), 10, "restarted"}).ok());
  EXPECT_EQ(cluster.FindRun(kSampleRun)->leg.number, 1) << "its ranks leave first";
  ASSERT_TRUE(apply(LegBegun{}).ok());
  const auto run = cluster.FindRun(kSampleRun);
  EXPECT_EQ(run->leg.number, 2);
  EXPECT_EQ(run->leg.first_step, 10);
  EXPECT_EQ(run->leg.engine.isa, "avx2") << "the bits stay the same";
  EXPECT_EQ(run->ended_legs.at(0).leg.why_ended, "trained all its steps");
  EXPECT_EQ(run->LatestCheckpoint()->step, 10);
  EXPECT_EQ(run->superseded.at(0).step, 20);
  EXPECT_FALSE(run->holds_slots);
}

}  // namespace
}  // namespace gp::coordinator

// What a damaged checkpoint, its reports and its return do to a run.
#include "coordinator/state/checkpoint_events.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_cluster.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

TEST(CheckpointEvents, ACheckpointBelongsToTheNewestLeg) {
  Cluster cluster = ClusterAfter(7);  // running in epoch 2
  const Event other{kSampleRun, At(9), "", "", CheckpointSealed{2, {.step = 30}, 2}};
  EXPECT_EQ(Apply(other, cluster).code(), StatusCode::kFailedPrecondition);
  const Event sealed{kSampleRun, At(9), "", "", CheckpointSealed{2, {.step = 30}, 1}};
  EXPECT_TRUE(Apply(sealed, cluster).ok());
  EXPECT_EQ(cluster.FindRun(kSampleRun)->checkpoints.back().leg, 1);
}

// Steps 10 and 20 are sealed, and epoch 3 has begun at step 20.
Cluster ResumedAtStep20() {
  Cluster cluster = ClusterAfter(9);
  const auto run = cluster.FindRun(RunId("r"));
  for (const EventBody& body :
       {EventBody(RankFailed{2, 0, ExitCause::kSignal, "killed", true, At(9)}),
        EventBody(RunPlaced{3, run->placement, "it fits", 20, 2, "avx2", Device::kGpu})}) {
    EXPECT_TRUE(Apply({RunId("r"), At(9), "", "", body}, cluster).ok());
  }
  return cluster;
}

Event DamageReported(NextReader next) {
  return {RunId("r"), At(9), "", "",
          RankFailed{3, 0, ExitCause::kDamagedCheckpoint, "damaged", true, At(9), next}};
}

// Two readers reported step 20 as damaged, so it is in quarantine.
Cluster QuarantinedAtStep20() {
  Cluster cluster = ResumedAtStep20();
  EXPECT_TRUE(Apply(DamageReported(NextReader::kNobody), cluster).ok());
  const Event damaged{RunId("r"), At(9), "", "", CheckpointDamaged{20, "damaged"}};
  EXPECT_TRUE(Apply(damaged, cluster).ok());
  return cluster;
}

TEST(CheckpointEvents, ADamagedCheckpointLeavesTheCatalogue) {
  const auto run = QuarantinedAtStep20().FindRun(RunId("r"));
  EXPECT_EQ(run->LatestCheckpoint()->step, 10);
  EXPECT_NE(run->FindQuarantined(20), nullptr);
  EXPECT_FALSE(run->suspicion);
}

TEST(CheckpointEvents, OneThatAnotherRunFoundDamagedLeavesTheCatalogueInAnyState) {
  Cluster cluster = ResumedAtStep20();
  auto before = *cluster.FindRun(RunId("r"));
  const Epoch epoch = before.FindCheckpoint(10)->epoch;
  const Event damaged{RunId("r"), At(9), "", "", CheckpointDamaged{10, "damaged", false, epoch}};
  const Status applied = Apply(damaged, cluster);
  ASSERT_TRUE(applied.ok()) << applied;
  const auto run = cluster.FindRun(RunId("r"));
  EXPECT_EQ(run->FindCheckpoint(10), nullptr);
  EXPECT_EQ(run->state, before.state) << "its ranks go on";
  ASSERT_NE(run->FindQuarantined(10), nullptr);
  EXPECT_FALSE(run->FindQuarantined(10)->lost);
  EXPECT_FALSE(run->FindQuarantined(10)->superseded);
  EXPECT_FALSE(Apply(damaged, cluster).ok()) << "it is in quarantine already";

  before.superseded = {*before.FindCheckpoint(10)};
  before.checkpoints.erase(before.checkpoints.begin());
  before.state = RunState::kSucceeded;
  before.holds_slots = false;
  cluster.Set(before);
  ASSERT_TRUE(Apply(damaged, cluster).ok());
  EXPECT_TRUE(cluster.FindRun(RunId("r"))->FindQuarantined(10)->superseded);
}

TEST(CheckpointEvents, ADamageReportAloneTakesNothingOutOfTheCatalogue) {
  for (const NextReader next :
       {NextReader::kNobody, NextReader::kAnotherNode, NextReader::kCoordinator}) {
    Cluster cluster = ResumedAtStep20();
    ASSERT_TRUE(Apply(DamageReported(next), cluster).ok());
    const auto run = cluster.FindRun(RunId("r"));
    EXPECT_EQ(run->LatestCheckpoint()->step, 20);
    EXPECT_EQ(run->failures_since_seal, 1) << "the killed rank alone";
    EXPECT_EQ(run->doubtful_nodes, std::set<NodeId>{NodeId("n")});
  }
}

TEST(CheckpointEvents, WhatTheCoordinatorReadTooLateChangesNothing) {
  Cluster cluster = ResumedAtStep20();
  const Event read{RunId("r"), At(9), "", "", CheckpointRead{20, Verdict::kDamaged, "late"}};
  EXPECT_TRUE(Apply(read, cluster).ok());
  EXPECT_FALSE(cluster.FindRun(RunId("r"))->suspicion);
  EXPECT_TRUE(Apply({RunId("nobody"), At(9), "", "", read.body}, cluster).ok());
}

TEST(CheckpointEvents, ARestoredCheckpointEndsTheSuspicionOfAnOlderOne) {
  Cluster cluster = QuarantinedAtStep20();
  auto run = *cluster.FindRun(RunId("r"));
  run.suspicion = Suspicion{.step = 10, .told_by = {NodeId("n")}};
  cluster.runs.Set(run.id, std::make_shared<const RunValue>(run));
  ASSERT_TRUE(Apply({RunId("r"), At(9), "", "", CheckpointRestored{20}}, cluster).ok());
  EXPECT_EQ(cluster.FindRun(RunId("r"))->LatestCheckpoint()->step, 20);
  EXPECT_FALSE(cluster.FindRun(RunId("r"))->suspicion);
}

TEST(RestoreRefusal, ARunThatTrainsTowardsTheStepAgainIsNotDisturbed) {
  Cluster cluster = QuarantinedAtStep20();
  auto run = *cluster.FindRun(RunId("r"));
  EXPECT_EQ(RestoreRefusal(run, 20), "");
  EXPECT_NE(RestoreRefusal(run, 10), "") << "it is in the catalogue";
  run.holds_slots = true;
  EXPECT_NE(RestoreRefusal(run, 20), "");
  run.checkpoints.push_back({{.step = 30}, 4});
  EXPECT_EQ(RestoreRefusal(run, 20), "");
  run.checkpoints.back().step = 20;
  EXPECT_NE(RestoreRefusal(run, 20), "") << "it was sealed again";
}

}  // namespace
}  // namespace gp::coordinator

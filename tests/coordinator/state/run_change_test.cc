// What every handler of an event relies on.
#include "coordinator/state/run_change.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_cluster.h"

namespace gp::coordinator {
namespace {

TEST(RunChange, AStaleEpochChangesNothing) {
  Cluster cluster = ClusterAfter(7);  // running in epoch 2
  const Event stale{RunId("r"), At(9), "", "", CheckpointSealed{1, {30, "/d", "x", 1, {}, false}}};
  EXPECT_EQ(Apply(stale, cluster).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(cluster.FindRun(RunId("r"))->checkpoints.empty());
}

TEST(RunChange, WhatIsImpossibleNamesTheEventAndTheRun) {
  Cluster cluster;
  const Event event{.run = RunId("nobody"), .body = RunQueued{"waits"}};
  const RunChange change(event, cluster);
  EXPECT_EQ(change.sequence(), 1u);
  EXPECT_EQ(Message(change.Existing().status()),
            "event 'queued' of run 'nobody' is impossible: the run does not exist");
}

TEST(RunChange, ARunMovesOnlyAsItsStatesAllow) {
  Cluster cluster = ClusterAfter(2);
  const Event event{.run = kSampleRun, .body = RunStarted{1}};
  const RunChange change(event, cluster);
  EXPECT_EQ(change.Moved(RunState::kRunning, "too early").status().code(),
            StatusCode::kFailedPrecondition);
  const auto moved = change.Moved(RunState::kStarting, "placed");
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->reason, "placed");
  EXPECT_EQ(cluster.FindRun(kSampleRun)->state, RunState::kQueued) << "only Save changes it";
}

}  // namespace
}  // namespace gp::coordinator

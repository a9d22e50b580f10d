// Goal: a sweep is known from its submit on, keeps what its trials need until it ends, and ends
// once.
#include "coordinator/state/sweep_events.h"

#include <gtest/gtest.h>

#include "coordinator/sample_sweep.h"

namespace gp::coordinator {
namespace {

const SweepId kId("default/s");

TEST(SweepEvents, ASubmittedSweepRuns) {
  Cluster cluster;
  ASSERT_TRUE(Apply(SubmitOf(FourTrials()), cluster).ok());
  const auto sweep = cluster.FindSweep(kId);
  ASSERT_NE(sweep, nullptr);
  EXPECT_EQ(sweep->state, SweepState::kRunning);
  EXPECT_EQ(sweep->submitted_by, "user alice");
  EXPECT_EQ(cluster.live_sweeps.size(), 1U);
  EXPECT_EQ(*cluster.sweep_requests.Find("request"), kId);
  EXPECT_FALSE(Apply(SubmitOf(FourTrials(), "other"), cluster).ok());
}

TEST(SweepEvents, AnEndedSweepKeepsNoRunFiles) {
  Cluster cluster;
  ASSERT_TRUE(Apply(SubmitOf(FourTrials()), cluster).ok());
  ASSERT_TRUE(Apply({.actor = "user alice", .body = SweepCancelled{kId}}, cluster).ok());
  EXPECT_EQ(cluster.FindSweep(kId)->state, SweepState::kCancelling);
  const Event end{.body = SweepEnded{kId, SweepState::kCancelled, "cancelled"}};
  ASSERT_TRUE(Apply(end, cluster).ok());
  const auto sweep = cluster.FindSweep(kId);
  EXPECT_EQ(sweep->state, SweepState::kCancelled);
  EXPECT_EQ(sweep->reason, "cancelled");
  EXPECT_TRUE(sweep->ended_at);
  EXPECT_TRUE(cluster.live_sweeps.empty());
  EXPECT_EQ(sweep->spec->trials[0].submission.resolved, "");
  EXPECT_EQ(sweep->spec->trials[0].submission.target_steps, 10);
  EXPECT_FALSE(Apply(end, cluster).ok());
  EXPECT_FALSE(Apply({.body = SweepCancelled{kId}}, cluster).ok());
  EXPECT_FALSE(Apply({.body = SweepCancelled{SweepId("default/x")}}, cluster).ok());
}

TEST(SweepEvents, ASweepOfAnEndedOnesNameTakesItsPlace) {
  const Event end{.body = SweepEnded{kId, SweepState::kFailed, "x"}};
  Cluster cluster;
  ASSERT_TRUE(Apply(SubmitOf(FourTrials(), "one"), cluster).ok());
  ASSERT_TRUE(Apply(end, cluster).ok());
  ASSERT_TRUE(Apply(SubmitOf(FourTrials(), "two"), cluster).ok());
  EXPECT_EQ(cluster.FindSweep(kId)->state, SweepState::kRunning);
  EXPECT_EQ(cluster.FindSweep(kId)->request_id, "two");
  EXPECT_EQ(cluster.sweep_requests.Find("one"), nullptr);
  EXPECT_TRUE(cluster.ended_sweeps.empty());
  ASSERT_TRUE(Apply(end, cluster).ok());
  EXPECT_EQ(cluster.ended_sweeps.size(), 1U);
}

TEST(SweepEvents, OldEndedSweepsAreForgotten) {
  SweepSpec spec = FourTrials();
  spec.trials.resize(kEndedTrialsMax / 2);
  Cluster cluster;
  const auto run = [&](const std::string& name) {
    spec.name = name;
    ASSERT_TRUE(Apply(SubmitOf(spec, name), cluster).ok());
    ASSERT_TRUE(Apply({.body = SweepEnded{spec.id(), SweepState::kFailed, "x"}}, cluster).ok());
  };
  run("a");
  run("b");
  EXPECT_EQ(cluster.ended_sweeps.size(), 2U);
  run("c");
  EXPECT_EQ(cluster.FindSweep(SweepId("default/a")), nullptr);
  EXPECT_EQ(cluster.sweep_requests.Find("a"), nullptr);
  EXPECT_NE(cluster.FindSweep(SweepId("default/b")), nullptr);
  EXPECT_EQ(cluster.sweeps.size(), 2U);
  spec.trials.resize(kEndedTrialsMax + 1);
  run("large");
  EXPECT_NE(cluster.FindSweep(SweepId("default/large")), nullptr);
  EXPECT_EQ(cluster.sweeps.size(), 1U);
}

TEST(SweepEvents, ModelsOfTrialsAreKeptUntilItEnds) {
  SweepSpec spec = FourTrials();
  for (SweepTrial& trial : spec.trials) trial.submission.resolved = "init_from: /runs/b/c\n";
  Cluster cluster;
  ASSERT_TRUE(Apply(SubmitOf(spec), cluster).ok());
  EXPECT_EQ(cluster.awaited_models["/runs/b/c"], 1);
  ASSERT_TRUE(Apply({.body = SweepEnded{kId, SweepState::kFailed, "x"}}, cluster).ok());
  EXPECT_TRUE(cluster.awaited_models.empty());
}

}  // namespace
}  // namespace gp::coordinator

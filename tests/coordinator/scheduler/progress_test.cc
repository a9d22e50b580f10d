// Goal: a coordinator restart also restarts the time limits for finishing a run, and the run ends
// even if its final checkpoint is lost meanwhile.
#include "coordinator/scheduler/progress.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

// A coordinator that has just replayed its store. Run "r" has its final checkpoint and is
// finishing; its two ranks still run.
class FinishingRun : public ::testing::Test {
 protected:
  FinishingRun() {
    for (Event& event : OneOfEachKind()) {
      if (std::holds_alternative<CancelRequested>(event.body)) break;
      // Skip the damage and the restore: a run without a checkpoint would have ended already.
      if (std::holds_alternative<CheckpointDamaged>(event.body)) continue;
      if (std::holds_alternative<CheckpointRestored>(event.body)) continue;
      Do(event);
    }
    Do({.body = Tick{kStart}});
    NodeConnected hello;
    hello.node = NodeId("n");
    hello.session = 1;
    Do({.body = hello});
  }

  void Do(const Event& event) {
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }

  // The plan at `after_start`, while both ranks still exist.
  gp::coordinator::Plan PlanAt(std::chrono::nanoseconds after_start) {
    cluster_.now = kStart + after_start;
    NodeReported report{NodeId("n"), 1, cluster_.last_sequence, {}, {}};
    const Epoch epoch = cluster_.FindRun(kSampleRun)->epoch;
    for (int rank = 0; rank < 2; ++rank) {
      report.ranks.push_back({.run = kSampleRun, .epoch = epoch, .rank = rank});
      report.ranks.back().phase = RankPhase::kFinished;
    }
    Do({.body = report});
    gp::coordinator::Plan plan;
    PlanProgress(cluster_, *cluster_.FindRun(kSampleRun), Policy(), {cluster_.now, At(9)}, plan);
    return plan;
  }

  // Marks the checkpoint as lost, as a start with --adopt does when its directory is gone.
  void Lose(int64_t step) {
    Do({.run = kSampleRun,
        .at = At(9),
        .actor = "restore",
        .body = CheckpointDamaged{step, "its directory is gone", true}});
  }

  std::string ReasonOfTheEnd() {
    const auto plan = PlanAt(Policy().finish_timeout + seconds(1));
    if (plan.size() != 1) return fmt::format("{} actions", plan.size());
    const auto& ended = std::get<RunEnded>(plan[0].event);
    EXPECT_EQ(ended.state, RunState::kSucceeded);
    return ended.reason;
  }

  // A time far from the clock's zero, as on a machine that has been up for a while.
  static constexpr Instant kStart{seconds(100'000)};
  Cluster cluster_;
};

TEST_F(FinishingRun, AfterARestartAFinishingRunGetsAFullTermToLeave) {
  const auto term = Policy().finish_timeout;
  EXPECT_TRUE(PlanAt(seconds(0)).empty());
  EXPECT_TRUE(PlanAt(term).empty());
  const auto plan = PlanAt(term + seconds(1));
  ASSERT_EQ(plan.size(), 1u);
  const auto& ended = std::get<RunEnded>(plan[0].event);
  EXPECT_EQ(ended.state, RunState::kSucceeded);
  EXPECT_EQ(ended.reason, "stopped early");
}

TEST_F(FinishingRun, AFinalCheckpointThatWasLostMeanwhileIsNotTakenForAnOlderOne) {
  Lose(20);
  ASSERT_EQ(cluster_.FindRun(kSampleRun)->checkpoints.back().step, 10);
  EXPECT_EQ(ReasonOfTheEnd(),
            "stopped early; its final checkpoint is in quarantine: its directory is gone");
}

TEST_F(FinishingRun, EndsWithoutAnyCheckpointWhenAllWereLostMeanwhile) {
  Lose(10);
  Lose(20);
  ASSERT_TRUE(cluster_.FindRun(kSampleRun)->checkpoints.empty());
  EXPECT_EQ(ReasonOfTheEnd(),
            "stopped early; its final checkpoint is in quarantine: its directory is gone");
}

}  // namespace
}  // namespace gp::coordinator

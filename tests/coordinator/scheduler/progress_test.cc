// Goal: the time limits of a run's end start again when the coordinator restarts.
#include "coordinator/scheduler/progress.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

// A coordinator that has just replayed its store: run "r" has its final checkpoint and is
// finishing, its two ranks still run.
class FinishingRun : public ::testing::Test {
 protected:
  FinishingRun() {
    for (Event& event : OneOfEachKind()) {
      if (std::holds_alternative<CancelRequested>(event.body)) break;
      // A run without a checkpoint has given up, and none of its steps finish.
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

  // The plan at that time, while the ranks still exist.
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

  // Long after the clock's own zero, as on a machine that has been up for a while.
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

}  // namespace
}  // namespace gp::coordinator

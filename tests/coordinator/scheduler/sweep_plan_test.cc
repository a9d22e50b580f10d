// Goal: the plan fills the free places of a sweep and ends it; tests/scenarios/{sweep,halving,
// median}.txt have whole lives of sweeps.
#include "coordinator/scheduler/sweep_plan.h"

#include <gtest/gtest.h>

#include "coordinator/sample_sweep.h"
#include "coordinator/scheduler/planner.h"

namespace gp::coordinator {
namespace {

class SweepPlanTest : public ::testing::Test {
 protected:
  void Submit(const EarlyStop& early_stop = {}) {
    ASSERT_TRUE(Apply(SubmitOf(FourTrials(early_stop)), cluster_).ok());
  }
  const SweepTrial& Trial(int number) const {
    return cluster_.FindSweep(SweepId("default/s"))->spec->trials[static_cast<size_t>(number - 1)];
  }
  Plan Planned() const {
    Plan plan;
    PlanSweeps(cluster_, plan);
    return plan;
  }

  Cluster cluster_;
};

TEST_F(SweepPlanTest, SubmitsAsManyTrialsAsMayRun) {
  Submit();
  const Plan plan = Planned();
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].run, RunId("t1"));
  EXPECT_EQ(plan[0].actor, "user alice");
  const auto& first = std::get<RunSubmitted>(plan[0].event).submission;
  EXPECT_EQ(first.source, "name: base\n");
  EXPECT_EQ(first.request_id, "request-1");
  cluster_.Set(TrialRun(Trial(1), RunState::kRunning));
  cluster_.Set(TrialRun(Trial(2), RunState::kFailed));
  const Plan next = Planned();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].run, RunId("t3"));
}

TEST_F(SweepPlanTest, ATakenNameGetsANumber) {
  Submit();
  auto other = TrialRun(Trial(1), RunState::kRunning);
  other.id = RunId("other");
  cluster_.Set(other);
  EXPECT_EQ(std::get<RunSubmitted>(Planned()[0].event).submission.name, "s-1-2");
}

TEST_F(SweepPlanTest, ANewTrialComesBeforeOneThatTrainsOn) {
  Submit(Halving());
  cluster_.Set(TrialRun(Trial(1), RunState::kSucceeded, {{10, 3.0}}));
  cluster_.Set(TrialRun(Trial(2), RunState::kSucceeded, {{10, 2.0}}));
  cluster_.Set(TrialRun(Trial(3), RunState::kFailed));
  const Plan plan = Planned();
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].run, RunId("t4"));
  EXPECT_EQ(plan[1].run, RunId("t2"));
  const auto& leg = std::get<LegRequested>(plan[1].event);
  EXPECT_EQ(leg.submission.target_steps, 20);
  EXPECT_EQ(leg.why, "rung 2 of its sweep: extended to 20 steps");
}

TEST_F(SweepPlanTest, EndsWhenNoTrialIsLeft) {
  Submit();
  for (int number = 1; number <= 3; ++number) {
    cluster_.Set(TrialRun(Trial(number), RunState::kFailed));
  }
  cluster_.Set(TrialRun(Trial(4), RunState::kSucceeded, {{10, 2.0}}));
  Plan plan = Planned();
  ASSERT_EQ(plan.size(), 1U);
  const auto& ended = std::get<SweepEnded>(plan[0].event);
  EXPECT_EQ(ended.state, SweepState::kSucceeded);
  EXPECT_EQ(ended.reason, "1 of 4 trials has a validation loss, 3 failed");
  cluster_.Set(TrialRun(Trial(4), RunState::kSucceeded, {{10, kNotANumber}}));
  const Plan failed = Planned();
  EXPECT_EQ(std::get<SweepEnded>(failed[0].event).state, SweepState::kFailed);
  EXPECT_EQ(std::get<SweepEnded>(failed[0].event).reason,
            "no trial has a finite validation loss: of 4 trials, 3 failed and 1 diverged; trial 1: "
            "why");
}

TEST_F(SweepPlanTest, ACancelledSweepCancelsItsTrialsAndWaitsForThem) {
  Submit();
  cluster_.Set(TrialRun(Trial(1), RunState::kRunning));
  cluster_.Set(TrialRun(Trial(2), RunState::kSucceeded, {{10, 2.0}}));
  ASSERT_TRUE(
      Apply({.actor = "user alice", .body = SweepCancelled{SweepId("default/s")}}, cluster_).ok());
  const Plan plan = Planned();
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(std::get<CancelRequested>(plan[0].event).reason, "its sweep 's' was cancelled");
  cluster_.Set(TrialRun(Trial(1), RunState::kCancelling));
  EXPECT_TRUE(Planned().empty());
  cluster_.Set(TrialRun(Trial(1), RunState::kCancelled));
  const Plan ended = Planned();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(std::get<SweepEnded>(ended[0].event).state, SweepState::kCancelled);
}

TEST_F(SweepPlanTest, ATrialThatIsCancelledIsNotPlacedInTheSameRound) {
  NodeConnected hello{.node = NodeId("n"), .session = 1, .name = "n"};
  hello.slots = {{SlotId("s0"), "", {0}}};
  ASSERT_TRUE(Apply({.body = hello}, cluster_).ok());
  Submit();
  cluster_.Set(TrialRun(Trial(1), RunState::kQueued));
  ASSERT_TRUE(
      Apply({.actor = "user alice", .body = SweepCancelled{SweepId("default/s")}}, cluster_).ok());
  const Plan plan = MakePlan(cluster_, Policy(), {});
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<CancelRequested>(plan[0].event));
}

}  // namespace
}  // namespace gp::coordinator

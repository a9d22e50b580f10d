// Goal: what a trial has reached follows from its run alone.
#include "coordinator/scheduler/trial_result.h"

#include <gtest/gtest.h>

#include <cmath>

#include "coordinator/sample_sweep.h"

namespace gp::coordinator {
namespace {

TEST(TrialResult, StateIsThatOfTheRun) {
  const SweepSpec spec = FourTrials();
  const SweepTrial& trial = spec.trials.front();
  Cluster cluster;
  EXPECT_EQ(ResultOf(cluster, trial).state, TrialState::kWaiting);
  for (const auto& [run_state, state] : {std::pair(RunState::kQueued, TrialState::kLive),
                                         std::pair(RunState::kPaused, TrialState::kLive),
                                         std::pair(RunState::kSucceeded, TrialState::kDone),
                                         std::pair(RunState::kFailed, TrialState::kFailed),
                                         std::pair(RunState::kCancelled, TrialState::kCancelled)}) {
    cluster.Set(TrialRun(trial, run_state));
    EXPECT_EQ(ResultOf(cluster, trial).state, state) << Name(run_state);
  }
  auto stopped = TrialRun(trial, RunState::kCancelled);
  stopped.cancel_reason = "it lost";
  cluster.Set(stopped);
  EXPECT_EQ(ResultOf(cluster, trial).state, TrialState::kStopped);
  cluster.Delete(*cluster.FindRun(trial.run), {.id = trial.run});
  EXPECT_EQ(ResultOf(cluster, trial).state, TrialState::kDeleted);
}

TEST(TrialResult, ATrialThatCannotBeSubmittedHasFailed) {
  const SweepSpec spec = FourTrials();
  Cluster cluster;
  cluster.faulty.emplace(spec.trials[0].run, "the plan is impossible");
  EXPECT_EQ(ResultOf(cluster, spec.trials[0]).state, TrialState::kFailed);
}

TEST(TrialResult, BestIsTheLowestFiniteLoss) {
  const SweepSpec spec = FourTrials();
  Cluster cluster;
  cluster.Set(TrialRun(spec.trials[0], RunState::kRunning,
                       {{10, 3.0}, {20, std::nullopt}, {30, 2.0}, {40, kNotANumber}, {50, 2.0}}));
  const TrialResult result = ResultOf(cluster, spec.trials[0]);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.best->step, 50);
  EXPECT_EQ(result.best->loss, 2.0);
  EXPECT_FALSE(result.diverged);
  EXPECT_EQ(BestUpTo(*result.run, 20)->step, 10);
  EXPECT_FALSE(BestUpTo(*result.run, 5));
  EXPECT_EQ(LastEvaluatedStep(*result.run), 50);
  EXPECT_EQ(LossAt(*result.run, 30), 2.0);
  EXPECT_EQ(LossAt(*result.run, 20), std::nullopt);
  EXPECT_EQ(LossAt(*result.run, 31), std::nullopt);
  EXPECT_TRUE(std::isinf(*LossAt(*result.run, 40)));
}

TEST(TrialResult, DivergedWhenNoLossIsFinite) {
  const SweepSpec spec = FourTrials();
  Cluster cluster;
  cluster.Set(TrialRun(spec.trials[0], RunState::kSucceeded, {{10, kNotANumber}}));
  cluster.Set(TrialRun(spec.trials[1], RunState::kSucceeded, {{10, std::nullopt}}));
  EXPECT_TRUE(ResultOf(cluster, spec.trials[0]).diverged);
  EXPECT_FALSE(ResultOf(cluster, spec.trials[1]).diverged);
}

}  // namespace
}  // namespace gp::coordinator

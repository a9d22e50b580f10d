// Goal: users see what the core knows of a sweep, and nothing is missing.
#include "coordinator/service/sweeps/sweep_view.h"

#include <gtest/gtest.h>

#include "coordinator/sample_sweep.h"

namespace gp::coordinator {
namespace {

TEST(SweepView, HasTheTrialsWithTheirRunsAndLosses) {
  Cluster cluster;
  SweepSpec spec = FourTrials(Halving());
  spec.source = "kind: Sweep\n";
  spec.trials[0].keys = {{"optimizer.lr", "1e-3"}};
  ASSERT_TRUE(Apply(SubmitOf(spec), cluster).ok());
  cluster.Set(TrialRun(spec.trials[0], RunState::kSucceeded, {{5, 3.0}, {10, 2.0}}));
  cluster.Set(TrialRun(spec.trials[1], RunState::kSucceeded, {{10, kNotANumber}}));
  cluster.Set(TrialRun(spec.trials[2], RunState::kFailed));
  const auto sweep = cluster.FindSweep(spec.id());
  v1::Sweep shown = ToProto(cluster, *sweep);
  EXPECT_EQ(shown.name(), "s");
  EXPECT_EQ(shown.namespace_(), "default");
  EXPECT_EQ(shown.state(), v1::SWEEP_STATE_RUNNING);
  EXPECT_EQ(shown.early_stop(), "halving");
  EXPECT_EQ(shown.eta(), 2);
  EXPECT_EQ(shown.trial_count(), 4);
  EXPECT_EQ(shown.ended_trials(), 3);
  EXPECT_EQ(shown.trials_size(), 0);
  AddTrials(
      cluster, *sweep,
      [](const RunId&) {
        Progress progress;
        progress.newest.emplace().step = 7;
        return progress;
      },
      shown);
  EXPECT_EQ(shown.source(), "kind: Sweep\n");
  ASSERT_EQ(shown.trials_size(), 4);
  const v1::SweepTrial& first = shown.trials(0);
  EXPECT_EQ(first.number(), 1);
  EXPECT_EQ(first.keys().at("optimizer.lr"), "1e-3");
  EXPECT_EQ(first.state(), v1::TRIAL_STATE_DONE);
  EXPECT_EQ(first.run_id(), "t1");
  EXPECT_EQ(first.run_name(), "s-1");
  EXPECT_EQ(first.validation_loss(), 2.0);
  EXPECT_EQ(first.validation_step(), 10);
  EXPECT_EQ(first.step(), 7);
  EXPECT_EQ(first.target_steps(), 10);
  EXPECT_EQ(first.full_steps(), 40);
  EXPECT_TRUE(shown.trials(1).diverged());
  EXPECT_FALSE(shown.trials(1).has_validation_loss());
  EXPECT_EQ(shown.trials(2).state(), v1::TRIAL_STATE_FAILED);
  EXPECT_EQ(shown.trials(2).reason(), "why");
  EXPECT_EQ(shown.trials(3).state(), v1::TRIAL_STATE_WAITING);
  EXPECT_EQ(shown.trials(3).run_id(), "");
}

}  // namespace
}  // namespace gp::coordinator

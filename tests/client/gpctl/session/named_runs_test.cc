#include "client/gpctl/session/named_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"

namespace gp::gpctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NamedRun Named(const std::string& name, v1::RunState state) {
  v1::Run run = gp::testing::MakeRun(name, "aaaaaaaaaa", state);
  run.mutable_progress()->clear_scores();
  return {run, name};
}

TEST(NamedRuns, ACurveShowsMeasurementsAndScores) {
  NamedRun run = Named("tiny", v1::RUN_STATE_RUNNING);
  run.run.mutable_progress()->add_scores()->set_name("val_bpb");
  EXPECT_THAT(CurveFields({run}), ElementsAre("loss", "lr", "grad_norm", "tokens_per_second", "mfu",
                                              "step_seconds", "val_loss", "val_bpb"));
  EXPECT_TRUE(CheckField("val_bpb", {run}).ok());
  EXPECT_THAT(CheckField("val_bp", {run}).message(), HasSubstr("did you mean 'val_bpb'?"));
  EXPECT_FALSE(CheckField("val_bpb", {Named("other", v1::RUN_STATE_RUNNING)}).ok());
}

TEST(NamedRuns, SaysWhyThereAreNoPoints) {
  NamedRun run = Named("tiny", v1::RUN_STATE_CANCELLED);
  run.run.set_reason("alice cancelled it");
  EXPECT_EQ(NoPointsText(run, 0),
            "tiny has no points: it was cancelled before its first step (alice cancelled it)");
  run.run.set_state(v1::RUN_STATE_PAUSED);
  run.run.set_reason("a user paused the run");
  EXPECT_EQ(NoPointsText(run, 0), "tiny has no points yet: it is paused (a user paused the run)");
  run.run.set_state(v1::RUN_STATE_RUNNING);
  run.run.mutable_started_at()->set_seconds(1000);
  run.run.clear_finished_at();
  EXPECT_EQ(NoPointsText(run, 1042),
            "tiny has no points yet: it has been running for 42s and has not finished a step");
}

}  // namespace
}  // namespace gp::gpctl

// Goal: extend, restart and retry ask for the leg that the user means, and refuse what means
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ContinueCommands : public ::testing::Test {
 protected:
  ContinueCommands() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

  // A run whose newest checkpoint is that of step 300.
  void AddRun(v1::RunState state) {
    v1::Run run = MakeRun("tiny", "aaaaaaaa01", state);
    run.set_latest_checkpoint_step(300);
    run.set_resolved(
        "apiVersion: gp/v1\ndata: {text: [/text.txt], tokenizer: bytes}\n"
        "batch: {micro_batch: 2, sequence: 16}\nmodel: {n_ctx: 16}\n"
        "schedule: {decay_steps: 300}\nbudget: {steps: 500}\n");
    service_.AddRun(run);
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(ContinueCommands, ExtendTakesATotalOrWhatIsAdded) {
  AddRun(v1::RUN_STATE_SUCCEEDED);
  gpctl_.Run({"extend", "tiny", "--steps", "500", "--set", "schedule.decay_steps=500"});
  EXPECT_EQ(service_.last_continue().steps(), 500);
  EXPECT_EQ(service_.last_continue().overrides(0), "schedule.decay_steps=500");
  EXPECT_NE(service_.last_continue().request_id(), "");
  gpctl_.Run({"extend", "tiny", "--steps", "+200"});
  EXPECT_EQ(service_.last_continue().more_steps(), 200);
  gpctl_.Run({"extend", "tiny", "--tokens", "10000"});
  EXPECT_EQ(service_.last_continue().tokens(), 10000);
  gpctl_.Run({"extend", "tiny", "--tokens", "+10000", "--request-id", "mine", "--dry-run"});
  EXPECT_EQ(service_.last_continue().more_tokens(), 10000);
  EXPECT_EQ(service_.last_continue().request_id(), "mine");
  EXPECT_TRUE(service_.last_continue().dry_run());
}

TEST_F(ContinueCommands, WhatIsNoAmountIsRefused) {
  AddRun(v1::RUN_STATE_SUCCEEDED);
  for (const char* amount : {"0", "-5", "+", "5x", "1e3", "", "99999999999999999999"}) {
    const Outcome refused = gpctl_.Run({"extend", "tiny", "--steps", amount});
    EXPECT_EQ(refused.code, 2) << amount;
    EXPECT_THAT(refused.err, HasSubstr("+200")) << amount;
  }
  EXPECT_EQ(gpctl_.Run({"extend", "tiny", "--steps", "5", "--tokens", "5"}).code, 2);
}

TEST_F(ContinueCommands, RestartBeginsFromTheNewestCheckpointAStepOrTheStart) {
  AddRun(v1::RUN_STATE_SUCCEEDED);
  gpctl_.Run({"restart", "tiny"});
  EXPECT_EQ(service_.last_continue().from_step(), 300);
  gpctl_.Run({"restart", "tiny", "--from", "200"});
  EXPECT_EQ(service_.last_continue().from_step(), 200);
  for (const char* start : {"start", "0"}) {
    const Outcome restarted = gpctl_.Run({"restart", "tiny", "--from", start});
    EXPECT_EQ(service_.last_continue().from_step(), -1);
    EXPECT_THAT(restarted.out, HasSubstr("continues from the start"));
  }
  EXPECT_THAT(gpctl_.Run({"restart", "tiny", "--from", "best"}).err,
              HasSubstr("--from best: expected the step of a checkpoint, or start"));
}

TEST_F(ContinueCommands, ARepeatedRestartAsksForTheLegThatItBegan) {
  v1::Run run = MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED);
  run.set_latest_checkpoint_step(300);
  v1::Leg& leg = *run.add_legs();
  leg.set_first_step(150);
  leg.set_request_id("mine");
  service_.AddRun(run);
  gpctl_.Run({"restart", "tiny", "--request-id", "mine"});
  EXPECT_EQ(service_.last_continue().from_step(), 150);
  gpctl_.Run({"restart", "tiny", "--request-id", "other"});
  EXPECT_EQ(service_.last_continue().from_step(), 300);
}

TEST_F(ContinueCommands, WaitFollowsTheRunToItsEnd) {
  AddRun(v1::RUN_STATE_FAILED);
  EXPECT_EQ(gpctl_.Run({"retry", "tiny"}).code, 0);
  service_.SetWatch({MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_RUNNING),
                     MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_FAILED)});
  const Outcome followed = gpctl_.Run({"retry", "tiny", "--wait"});
  EXPECT_EQ(followed.code, 7) << followed.err;
  EXPECT_THAT(followed.err, Not(HasSubstr("Watch it:")));
  EXPECT_EQ(gpctl_.Run({"extend", "tiny", "--steps", "+200", "--wait", "--dry-run"}).code, 0);
  EXPECT_EQ(gpctl_.Run({"resume", "tiny", "--wait"}).code, 7);
}

TEST_F(ContinueCommands, WaitShowsTheStepsOfTheNewLegAlone) {
  v1::Run ended = MakeRun("tiny", "aaaaaaaa01", v1::RUN_STATE_FAILED);
  ended.set_epoch(1);
  service_.AddRun(ended);
  for (const int64_t step : {200, 300, 250, 260}) {
    v1::MetricPoint point;
    point.set_step(step);
    point.set_epoch(step % 100 == 0 ? 1 : 2);
    point.set_validation_loss(2.5);
    service_.AddPoint(point);
  }
  ended.set_epoch(2);
  service_.SetWatch({ended});
  const Outcome followed = gpctl_.Run({"retry", "tiny", "--wait"});
  EXPECT_THAT(followed.out, AllOf(HasSubstr("step 250"), HasSubstr("step 260")));
  EXPECT_THAT(followed.out, AllOf(Not(HasSubstr("step 200/")), Not(HasSubstr("step 300/"))));
}

TEST_F(ContinueCommands, OnlyAFailedRunIsTriedAgain) {
  AddRun(v1::RUN_STATE_FAILED);
  EXPECT_EQ(gpctl_.Run({"retry", "tiny"}).code, 0);
  EXPECT_EQ(service_.last_continue().run(), "aaaaaaaa01");
  AddRun(v1::RUN_STATE_CANCELLED);
  const Outcome refused = gpctl_.Run({"retry", "tiny"});
  EXPECT_EQ(refused.code, 5);
  EXPECT_THAT(refused.err, HasSubstr("is cancelled; only a failed run can be retried"));
  EXPECT_THAT(refused.err, HasSubstr("resume tiny"));
}

}  // namespace
}  // namespace gp::testing

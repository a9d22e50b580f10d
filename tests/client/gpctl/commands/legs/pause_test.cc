// Goal: pause and resume say what happens to the run, and what to type next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PauseCommand : public ::testing::Test {
 protected:
  PauseCommand() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

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

TEST_F(PauseCommand, ARunningRunSavesFirst) {
  AddRun(v1::RUN_STATE_RUNNING);
  const Outcome paused = gpctl_.Run({"pause", "tiny"});
  EXPECT_EQ(paused.code, 0) << paused.err;
  EXPECT_EQ(paused.out, "tiny (aaaaaaaa01) saves its last step, then pauses\n");
  EXPECT_THAT(paused.err, HasSubstr("resume tiny"));
}

TEST_F(PauseCommand, AWaitingRunIsPausedAtOnce) {
  AddRun(v1::RUN_STATE_QUEUED);
  EXPECT_EQ(gpctl_.Run({"pause", "tiny"}).out, "tiny (aaaaaaaa01) is paused\n");
  EXPECT_THAT(gpctl_.Run({"pause", "tiny", "-o", "json"}).out, HasSubstr("\"state\":\"paused\""));
  EXPECT_EQ(gpctl_.Run({"pause", "nobody"}).code, 3);
}

TEST_F(PauseCommand, APausedRunIsResumedAndAnEndedOneBeginsAnotherLeg) {
  AddRun(v1::RUN_STATE_PAUSED);
  EXPECT_EQ(gpctl_.Run({"resume", "tiny"}).out, "tiny (aaaaaaaa01) is queued: resumed by owner\n");
  EXPECT_EQ(service_.last_continue().run(), "");
  AddRun(v1::RUN_STATE_CANCELLED);
  EXPECT_THAT(gpctl_.Run({"resume", "tiny"}).out,
              StartsWith("tiny (aaaaaaaa01) continues from step 300"));
  EXPECT_EQ(service_.last_continue().run(), "aaaaaaaa01");
  EXPECT_FALSE(service_.last_continue().has_from_step());
}

}  // namespace
}  // namespace gp::testing

// Goal: the output of a new leg says where it goes on, how far, and at which learning rate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class AnotherLeg : public ::testing::Test {
 protected:
  AnotherLeg() { gpctl_.environment["GPCTL_SERVER"] = service_.address(); }

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

TEST_F(AnotherLeg, SaysFromWhereToWhereAndTheRate) {
  AddRun(v1::RUN_STATE_SUCCEEDED);
  const Outcome extended = gpctl_.Run({"extend", "tiny", "--steps", "500"});
  EXPECT_EQ(extended.out, "tiny (aaaaaaaa01) continues from step 300 to step 500: extended\n");
  EXPECT_THAT(extended.err, StartsWith("learning rate 0.0001 at step 300, 0.0001 at step 500: the "
                                       "cosine schedule ended at step 300"));
  EXPECT_THAT(extended.err, HasSubstr("watch tiny"));
}

TEST_F(AnotherLeg, ADryRunSaysThatNothingWasChanged) {
  AddRun(v1::RUN_STATE_SUCCEEDED);
  const Outcome tried = gpctl_.Run({"extend", "tiny", "--steps", "500", "--dry-run"});
  EXPECT_THAT(tried.out, StartsWith("tiny (aaaaaaaa01) would continue from step 300 to step 500"));
  EXPECT_THAT(tried.err, HasSubstr("Nothing was changed (--dry-run)."));
}

TEST_F(AnotherLeg, AForkThatBeginsAgainBeginsAtItsParentsStep) {
  AddRun(v1::RUN_STATE_SUCCEEDED);
  v1::Run fork = MakeRun("fork", "bbbbbbbb02", v1::RUN_STATE_SUCCEEDED);
  fork.set_resolved(
      "apiVersion: gp/v1\ndata: {text: [/text.txt], tokenizer: bytes}\n"
      "batch: {micro_batch: 2, sequence: 16}\nmodel: {n_ctx: 16}\n"
      "init_from: /c\ninit_data: keep\nbudget: {steps: 300}\n");
  fork.mutable_progress()->set_target_steps(300);
  fork.mutable_parent()->set_step(150);
  fork.mutable_parent()->set_tokens(4800);
  service_.AddRun(fork);
  const Outcome restarted = gpctl_.Run({"restart", "fork", "--from", "start"});
  EXPECT_THAT(restarted.out, HasSubstr("continues from step 150 to step 300"));
  EXPECT_THAT(restarted.err, StartsWith("learning rate 0.00055 at step 150, 0.0001 at step 300"));
}

TEST_F(AnotherLeg, ARepeatedRequestIsSaidToHaveBeenDoneBefore) {
  AddRun(v1::RUN_STATE_SUCCEEDED);
  const std::vector<std::string> extend = {"extend", "tiny", "--steps", "500", "--request-id", "x"};
  EXPECT_THAT(gpctl_.Run(extend).out, StartsWith("tiny (aaaaaaaa01) continues"));
  EXPECT_EQ(gpctl_.Run(extend).out, "Done before: tiny (aaaaaaaa01): extended\n");
}

TEST_F(AnotherLeg, JsonIsTheRunAndWhetherTheRequestWasRepeated) {
  AddRun(v1::RUN_STATE_SUCCEEDED);
  const Outcome extended = gpctl_.Run({"extend", "tiny", "--steps", "500", "-o", "json"});
  EXPECT_THAT(extended.out, HasSubstr("\"kind\": \"Run\""));
  EXPECT_THAT(extended.out, HasSubstr("\"replayed\": false"));
  EXPECT_EQ(extended.err, "");
}

}  // namespace
}  // namespace gp::testing

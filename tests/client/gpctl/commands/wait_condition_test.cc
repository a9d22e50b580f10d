// Goal: a wait ends exactly when its condition is met, and its exit code says whether it was.
#include "client/gpctl/commands/wait_condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

bool IsMet(const std::string& condition, const v1::Run& run) {
  const auto parsed = gpctl::ParseWaitCondition(condition);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() && parsed->MetBy(run);
}

// At step 500, loss 2.0512, validation loss 2.1.
v1::Run Running() { return MakeRun("a", "aaaaaaaa01", v1::RUN_STATE_RUNNING); }

TEST(WaitCondition, IsMetAtItsEdge) {
  EXPECT_TRUE(IsMet("step=500", Running()));
  EXPECT_FALSE(IsMet("step=501", Running()));
  EXPECT_TRUE(IsMet("loss<2.06", Running()));
  EXPECT_FALSE(IsMet("loss<2.0512", Running()));
  EXPECT_TRUE(IsMet("val_loss<2.2", Running()));
  EXPECT_FALSE(IsMet("val_loss<2.1", Running()));
}

TEST(WaitCondition, ALossThatWasNotMeasuredIsBelowNothing) {
  v1::Run run = Running();
  run.mutable_progress()->set_step(0);
  run.mutable_progress()->set_loss(0);
  EXPECT_FALSE(IsMet("loss<100", run));
  run.mutable_progress()->set_validation_step(0);
  run.mutable_progress()->set_validation_loss(0);
  EXPECT_FALSE(IsMet("val_loss<100", run));
}

TEST(WaitCondition, ACheckpointOfStepZeroIsOne) {
  v1::Run run = Running();
  EXPECT_FALSE(IsMet("checkpoint", run));
  run.set_latest_checkpoint_step(0);
  EXPECT_TRUE(IsMet("checkpoint", run));
}

TEST(WaitCondition, StatesAreNamedWithAndWithoutTheWord) {
  EXPECT_TRUE(IsMet("running", Running()));
  EXPECT_TRUE(IsMet("state=running", Running()));
  EXPECT_FALSE(IsMet("state=queued", Running()));
  EXPECT_FALSE(IsMet("finished", Running()));
  for (const char* nonsense : {"", "step", "step=", "step=x", "loss<", "state=", "state=asleep"}) {
    EXPECT_FALSE(gpctl::ParseWaitCondition(nonsense).ok()) << nonsense;
  }
}

TEST(WaitCondition, ANumberThatNoRunCanReachIsRefusedInWords) {
  for (const char* step : {"inf", "nan", "-1", "1.5", "1e30", "x", ""}) {
    const Status refused = gpctl::ParseWaitCondition(std::string("step=") + step).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << step;
    EXPECT_THAT(Message(refused), HasSubstr("expected a whole number such as step=1000")) << step;
  }
  for (const char* loss : {"inf", "-inf", "nan", "1e999", "x", ""}) {
    const Status refused = gpctl::ParseWaitCondition(std::string("loss<") + loss).status();
    EXPECT_THAT(Message(refused), HasSubstr("expected a finite number such as loss<2.5")) << loss;
    const Status validation = gpctl::ParseWaitCondition(std::string("val_loss<") + loss).status();
    EXPECT_THAT(Message(validation), HasSubstr("such as val_loss<2.5")) << loss;
  }
  EXPECT_TRUE(IsMet("step=5e2", Running()));
}

class WaitTest : public ::testing::Test {
 protected:
  WaitTest() {
    gpctl_.environment["GPCTL_SERVER"] = service_.address();
    service_.AddRun(Running());
  }

  // The exit code of a wait for `condition` of a run that ends as `state`, at step 500.
  int CodeWhenItEnds(v1::RunState state, const std::string& condition) {
    service_.SetWatch({Running(), MakeRun("a", "aaaaaaaa01", state)});
    return gpctl_.Run({"wait", "a", "--for", condition}).code;
  }

  FakeRunService service_;
  GpctlRunner gpctl_;
};

TEST_F(WaitTest, ARunThatEndsBeforeTheConditionIsMetIsAFailure) {
  EXPECT_EQ(CodeWhenItEnds(v1::RUN_STATE_SUCCEEDED, "step=501"), 1);
  EXPECT_EQ(CodeWhenItEnds(v1::RUN_STATE_SUCCEEDED, "loss<0.5"), 1);
  EXPECT_EQ(CodeWhenItEnds(v1::RUN_STATE_SUCCEEDED, "checkpoint"), 1);
  EXPECT_EQ(CodeWhenItEnds(v1::RUN_STATE_SUCCEEDED, "state=failed"), 1);
  EXPECT_EQ(CodeWhenItEnds(v1::RUN_STATE_FAILED, "step=501"), 7);
  EXPECT_EQ(CodeWhenItEnds(v1::RUN_STATE_CANCELLED, "step=501"), 8);
}

TEST_F(WaitTest, TheStateThatWasWaitedForIsASuccessWhateverItIs) {
  EXPECT_EQ(CodeWhenItEnds(v1::RUN_STATE_FAILED, "state=failed"), 0);
  EXPECT_EQ(CodeWhenItEnds(v1::RUN_STATE_CANCELLED, "state=cancelled"), 0);
  EXPECT_EQ(CodeWhenItEnds(v1::RUN_STATE_SUCCEEDED, "state=succeeded"), 0);
}

TEST(WaitCommand, AnEndedRunThatDoesNotMeetTheConditionIsToldAtOnce) {
  FakeRunService service;
  GpctlRunner gpctl;
  gpctl.environment["GPCTL_SERVER"] = service.address();
  service.AddRun(MakeRun("done", "aaaaaaaa01", v1::RUN_STATE_SUCCEEDED));  // at step 500
  const Outcome step = gpctl.Run({"wait", "done", "--for", "step=5000"});
  EXPECT_EQ(step.code, 1);
  EXPECT_THAT(step.out,
              HasSubstr("done has ended and cannot meet 'step=5000' any more: it succeeded at "
                        "step 500: "));
  EXPECT_THAT(gpctl.Run({"wait", "done", "--for", "running"}).out, HasSubstr("cannot meet"));
  EXPECT_EQ(gpctl.Run({"wait", "done", "--for", "step=100"}).code, 0);
  EXPECT_EQ(gpctl.Run({"wait", "done", "--for", "loss<9"}).code, 0);
  EXPECT_EQ(gpctl.Run({"wait", "done"}).code, 0);
  service.AddRun(MakeRun("gone", "aaaaaaaa02", v1::RUN_STATE_CANCELLED));
  const Outcome gone = gpctl.Run({"wait", "gone", "--for", "checkpoint"});
  EXPECT_EQ(gone.code, 8);
  EXPECT_THAT(gone.out,
              HasSubstr("cannot meet 'checkpoint' any more: it was cancelled at step 500"));
}

}  // namespace
}  // namespace gp::testing

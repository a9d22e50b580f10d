#include "coordinator/state/initial_model.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

Submission With(const std::string& resolved) {
  Submission submission;
  submission.resolved = resolved;
  return submission;
}

TEST(InitialModel, IsTheValueOfTheTopLevelKey) {
  EXPECT_EQ(InitialModelOf(With("name: a\ninit_from: /m/gpt2\nseed: 1\n")), "/m/gpt2");
  EXPECT_EQ(InitialModelOf(With("init_from: \"/m/my \\\"gpt2\\\"\"")), "/m/my \"gpt2\"");
  for (const char* scratch : {"", "init_from: scratch\n", "data:\n  init_from: /x\n"}) {
    EXPECT_EQ(InitialModelOf(With(scratch)), "") << scratch;
  }
}

TEST(InitialModel, AnotherPathIsReadBackAsItWasSet) {
  for (const std::string before : {"/m/gpt2", "\"/m/gpt2\""}) {
    for (const std::string path : {"/a/runs/b", "runs/b", "/with blank", "/with: colon", "/#hash",
                                   "/quote\"", "/back\\slash"}) {
      Submission submission = With("name: a\ninit_from: " + before + "\nseed: 1\n");
      SetInitialModel(submission, path);
      EXPECT_EQ(InitialModelOf(submission), path);
      EXPECT_TRUE(submission.resolved.starts_with("name: a\ninit_from: ")) << submission.resolved;
      EXPECT_TRUE(submission.resolved.ends_with("\nseed: 1\n")) << submission.resolved;
    }
  }
}

constexpr char kModel[] = "/m/gpt2";

coordinator::Run RunIn(RunState state) {
  coordinator::Run run;
  run.state = state;
  run.submission = std::make_shared<const Submission>(With("init_from: /m/gpt2\n"));
  return run;
}

TEST(AwaitedModel, IsNeededUntilARunHasACheckpointToGoOnFrom) {
  coordinator::Run run = RunIn(RunState::kRunning);
  EXPECT_EQ(AwaitedModel(run), kModel);
  run.checkpoints.push_back({{.step = 10}});
  EXPECT_EQ(AwaitedModel(run), "");
  run.checkpoints[0].retired = true;
  EXPECT_EQ(AwaitedModel(run), kModel) << "it cannot go on from a removed checkpoint";
}

TEST(AwaitedModel, IsNeededByAnEndedRunThatMayBeRetried) {
  for (const RunState state : {RunState::kFailed, RunState::kCancelled}) {
    coordinator::Run run = RunIn(state);
    EXPECT_EQ(AwaitedModel(run), kModel);
    run.checkpoints.push_back({{.step = 10}});
    EXPECT_EQ(AwaitedModel(run), "");
  }
  EXPECT_EQ(AwaitedModel(RunIn(RunState::kSucceeded)), "") << "an evaluation has no checkpoint";
}

TEST(AwaitedModel, OfAChildThatHasEndedIsItsParentsAffair) {
  coordinator::Run run = RunIn(RunState::kFailed);
  Submission submission = *run.submission;
  submission.parent_run = "base";
  run.submission = std::make_shared<const Submission>(submission);
  EXPECT_EQ(AwaitedModel(run), "");
  EXPECT_TRUE(MayBeginAgain(run));
}

}  // namespace
}  // namespace gp::coordinator

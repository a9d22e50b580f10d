#include "coordinator/store/stored_paths.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

Event Sealed(const std::string& directory) {
  return {RunId("r"), At(1), "scheduler", "", CheckpointSealed{1, {.directory = directory}}};
}

std::string DirectoryIn(const Event& event) {
  return std::get<CheckpointSealed>(event.body).checkpoint.directory;
}

TEST(StoredPaths, AreSeenFromTheStorageRoot) {
  const Event sealed = Sealed("/a/gp/runs/r/checkpoints/c");
  const Event stored = WithRelativePath(sealed, "/a/gp");
  EXPECT_EQ(DirectoryIn(stored), "runs/r/checkpoints/c");
  EXPECT_EQ(DirectoryIn(WithAbsolutePath(stored, "/b")), "/b/runs/r/checkpoints/c");
  const Event submit = SampleSubmit("r", "1");
  const std::string& directory = std::get<RunSubmitted>(submit.body).submission.run_directory;
  const Event relative = WithRelativePath(submit, DirectoryOf(directory));
  EXPECT_EQ(std::get<RunSubmitted>(relative.body).submission.run_directory, BaseNameOf(directory));
  const Event retired{RunId("r"), At(1), "scheduler", "", CheckpointRetired{1, "/a/gp/runs/r/c"}};
  EXPECT_EQ(std::get<CheckpointRetired>(WithRelativePath(retired, "/a/gp").body).directory,
            "runs/r/c");
}

TEST(StoredPaths, TheModelThatARunBeginsWithMovesWithTheRoot) {
  const auto submit = [](const std::string& model) {
    Event event = SampleSubmit("r", "1");
    Submission& submission = std::get<RunSubmitted>(event.body).submission;
    submission.run_directory = "/a/gp/runs/r";
    submission.resolved = "name: r\ninit_from: " + model + "\nseed: 1\n";
    return event;
  };
  const auto resolved = [](const Event& event) {
    return std::get<RunSubmitted>(event.body).submission.resolved;
  };
  const std::string model = "/a/gp/runs/base/checkpoints/c";
  const Event stored = WithRelativePath(submit(model), "/a/gp");
  EXPECT_EQ(resolved(stored), "name: r\ninit_from: runs/base/checkpoints/c\nseed: 1\n");
  EXPECT_EQ(resolved(WithAbsolutePath(stored, "/a/gp")), resolved(submit(model)));
  EXPECT_EQ(resolved(WithAbsolutePath(stored, "/my gp")),
            "name: r\ninit_from: \"/my gp/runs/base/checkpoints/c\"\nseed: 1\n");
  for (const std::string other : {"/models/gpt2", "scratch", "/a/gp2/runs/base/checkpoints/c"}) {
    EXPECT_EQ(resolved(WithRelativePath(submit(other), "/a/gp")), resolved(submit(other)));
    EXPECT_EQ(resolved(WithAbsolutePath(submit(other), "/a/gp")), resolved(submit(other)));
  }
  Event older = submit("\"" + model + "\"");
  EXPECT_EQ(CutRoot(older), "/a/gp");
  EXPECT_EQ(resolved(older), "name: r\ninit_from: \"runs/base/checkpoints/c\"\nseed: 1\n");
}

TEST(StoredPaths, OfASweepsTrialsAreRelative) {
  SweepSpec spec;
  SweepTrial trial{.run = RunId("t")};
  trial.submission.run_directory = "/a/gp/runs/t";
  trial.submission.resolved = "init_from: /a/gp/runs/base/checkpoints/c\n";
  spec.trials = {trial};
  const Event event{.body = SweepSubmitted{std::make_shared<const SweepSpec>(spec)}};
  const auto trial_in = [](const Event& of) {
    return std::get<SweepSubmitted>(of.body).spec->trials[0].submission;
  };
  const Event stored = WithRelativePath(event, "/a/gp");
  EXPECT_EQ(trial_in(stored).run_directory, "runs/t");
  EXPECT_EQ(trial_in(stored).resolved, "init_from: runs/base/checkpoints/c\n");
  EXPECT_EQ(trial_in(WithAbsolutePath(stored, "/b")).run_directory, "/b/runs/t");
  EXPECT_EQ(trial_in(WithAbsolutePath(stored, "/a/gp")), trial_in(event));
}

TEST(StoredPaths, OutsideOfTheRootStayAsTheyAre) {
  EXPECT_EQ(DirectoryIn(WithRelativePath(Sealed("/a/gp2/c"), "/a/gp")), "/a/gp2/c");
  EXPECT_EQ(DirectoryIn(WithAbsolutePath(Sealed("/a/gp2/c"), "/a/gp")), "/a/gp2/c");
  EXPECT_EQ(DirectoryIn(WithRelativePath(Sealed("/a/gp/c"), "")), "/a/gp/c");
  EXPECT_EQ(DirectoryIn(WithAbsolutePath(Sealed("runs/c"), "")), "runs/c");
  EXPECT_EQ(DirectoryIn(WithAbsolutePath(Sealed(""), "/a")), "");
}

TEST(StoredPaths, OfOlderVersionsShowWhereTheRootWas) {
  Event sealed = Sealed("/home/runs/gp/runs/r/checkpoints/c");
  EXPECT_EQ(CutRoot(sealed), "/home/runs/gp");
  EXPECT_EQ(DirectoryIn(sealed), "runs/r/checkpoints/c");
  Event elsewhere = Sealed("/x/runs/r2/c");
  EXPECT_EQ(CutRoot(elsewhere), "");
  EXPECT_EQ(DirectoryIn(elsewhere), "/x/runs/r2/c");
}

}  // namespace
}  // namespace gp::coordinator

// Goal: a fork begins from the checkpoint that the user means, with the run file of the leg that
// wrote it.
#include "client/gpctl/session/fork_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "client/fake_run_service.h"
#include "client/gpctl/test_console.h"
#include "formats/checkpoint_directory.h"
#include "lib/base/temporary_directory.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FindSource : public ::testing::Test {
 protected:
  FindSource() {
    test_.console.working_directory = directory_.path();
    test_.console.environment = {{"GPCTL_SERVER", service_.address()}, {"HOME", directory_.path()}};
    v1::Run run = testing::MakeRun("base", "aaaaaaaa01", v1::RUN_STATE_RUNNING);
    run.set_leg(2);
    for (const int number : {1, 2}) {
      v1::Leg& leg = *run.add_legs();
      leg.set_number(number);
      leg.set_resolved(RunFile(number));
      leg.set_target_steps(number * 300);
    }
    run.set_resolved(RunFile(2));
    run.mutable_progress()->set_target_steps(600);
    service_.AddRun(run);
    service_.AddCheckpoint(Write(150, 1));
    service_.AddCheckpoint(Write(400, 2));
  }

  static std::string RunFile(int seed) {
    return fmt::format(
        "apiVersion: gp/v1\nmodel: {{n_ctx: 16}}\ndata: {{text: [/t], tokenizer: bytes}}\n"
        "batch: {{micro_batch: 2, sequence: 16}}\nbudget: {{steps: 300}}\nseed: {}\n",
        seed);
  }

  v1::Checkpoint Write(int64_t step, int leg) const {
    v1::Checkpoint checkpoint;
    checkpoint.set_step(step);
    checkpoint.set_leg(leg);
    checkpoint.set_latest(step == 400);
    checkpoint.set_directory(
        fmt::format("{}/runs/aaaaaaaa01/checkpoints/step-{}", directory_.path(), step));
    formats::CheckpointManifest manifest;
    manifest.run_id = "aaaaaaaa01";
    manifest.run_name = "base";
    manifest.step = step;
    manifest.tokens = 7;
    EXPECT_TRUE(MakeDirectories(checkpoint.directory()).ok());
    EXPECT_TRUE(WriteFileAtomically(JoinPath(checkpoint.directory(), formats::kManifestName),
                                    formats::FormatManifest(manifest))
                    .ok());
    return checkpoint;
  }

  StatusOr<ForkSource> Find(const std::string& reference) {
    return FindForkSource(reference, session_);
  }

  const TemporaryDirectory directory_;
  testing::FakeRunService service_;
  testing::TestConsole test_;
  Session session_{GlobalOptions{}, test_.console};
};

TEST_F(FindSource, ACheckpointHasTheRunFileAndTheStepsOfItsLeg) {
  const auto first = Find("base@150");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->text, "base@150");
  EXPECT_EQ(first->run_id, "aaaaaaaa01");
  EXPECT_EQ(first->run_file, RunFile(1));
  EXPECT_EQ(first->tokens, 4800);
  EXPECT_EQ(first->target_steps, 300);
  const auto newest = Find("base");
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_EQ(newest->text, "base@400");
  EXPECT_EQ(newest->run_file, RunFile(2));
  EXPECT_EQ(newest->target_steps, 600);
}

TEST_F(FindSource, TheCountersOfAForkGoOnFromItsParent) {
  v1::Run run = testing::MakeRun("child", "bbbbbbbb02", v1::RUN_STATE_RUNNING);
  run.set_resolved(RunFile(1) + "init_from: /c\ninit_data: keep\n");
  run.mutable_parent()->set_step(100);
  run.mutable_parent()->set_tokens(6400);
  service_.AddRun(run);
  const auto found = Find("child@150");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->start, (runspec::TrainingStart{.step = 100, .tokens = 6400}));
  EXPECT_EQ(found->tokens, 8000);
}

TEST_F(FindSource, ADirectoryIsTheCheckpointOfTheRunThatHasIt) {
  const std::string checkpoints = directory_.path() + "/runs/aaaaaaaa01/checkpoints";
  const auto known = Find(checkpoints + "/step-150");
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->text, "base@150");
  EXPECT_EQ(Find(directory_.path() + "/runs/aaaaaaaa01/")->text, "base@400");
  v1::Checkpoint held = Write(500, 2);
  held.set_quarantine_reason("a digest differs");
  held.mutable_quarantined_at()->set_seconds(1);
  service_.AddCheckpoint(held);
  const auto quarantined = Find(held.directory());
  EXPECT_EQ(quarantined.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(quarantined.status()),
              AllOf(HasSubstr("a digest differs"), HasSubstr("ckpt verify aaaaaaaa01@500")));
}

TEST_F(FindSource, ACopyNeedsItsRunFile) {
  const v1::Checkpoint copy = Write(40, 1);
  const auto alone = Find(copy.directory());
  EXPECT_EQ(alone.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(alone.status()),
              AllOf(HasSubstr("resolved.yaml"), HasSubstr("init_optimizer: keep")));
  const std::string run = gp::DirectoryOf(gp::DirectoryOf(copy.directory()));
  ASSERT_TRUE(WriteFileAtomically(JoinPath(run, "resolved.yaml"), RunFile(9)).ok());
  const auto found = Find(copy.directory());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->text, copy.directory());
  EXPECT_EQ(found->run, "base");
  EXPECT_EQ(found->run_id, "");
  EXPECT_EQ(found->step, 40);
  EXPECT_EQ(found->tokens, 7);
  EXPECT_EQ(found->run_file, RunFile(9));
  const auto nothing = Find(directory_.path() + "/");
  EXPECT_THAT(Message(nothing.status()), HasSubstr("init_from"));
}

}  // namespace
}  // namespace gp::gpctl

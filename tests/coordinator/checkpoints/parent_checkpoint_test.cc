// Goal: a run's counters go on from the tokens that its parent had trained on, whatever the batch
// of either was.
#include "coordinator/checkpoints/parent_checkpoint.h"

#include <gtest/gtest.h>

#include "coordinator/service/run_file_resolver.h"
#include "coordinator/store/memory_store.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

class ParentCheckpointTest : public ::testing::Test {
 protected:
  static std::string DirectoryOf(const std::string& run, int64_t step) {
    return fmt::format("/srv/runs/{}/checkpoints/step-{}", run, step);
  }

  // Adds a run that has sealed this step. Its counters begin at `parent`, if that is not empty.
  Submission Add(const std::string& id, int64_t step, int64_t tokens_per_step,
                 const std::string& parent = "") {
    const std::string text = fmt::format(
        "apiVersion: gp/v1\nname: {}\nmodel: {{n_layer: 1, n_head: 1, n_embd: 16, n_ctx: 16}}\n"
        "data: {{text: [/text.txt], tokenizer: bytes}}\n"
        "batch: {{micro_batch: 2, sequence: 16, total_tokens: {}}}\nbudget: {{tokens: 9600}}\n{}",
        id, tokens_per_step,
        parent.empty() ? "" : fmt::format("init_from: {}\ninit_data: keep\n", parent));
    const auto same = [](const std::string&, const std::string& name) { return name; };
    const auto find_start = [&](const std::string& directory) {
      const auto found = Find(directory);
      return runspec::TrainingStart{found->step, found->tokens};
    };
    auto resolved = SpecResolver().Resolve({{text, "run.yaml", ""}, {}, "", same, find_start});
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    Submission submission = resolved->submission;
    if (const auto found = Find(parent)) {
      submission.parent_run = found->run.value();
      submission.parent_step = found->step;
      submission.parent_tokens = found->tokens;
    }
    RunValue run;
    run.id = RunId(id);
    run.submission = std::make_shared<const Submission>(submission);
    run.checkpoints.push_back({{.step = step, .directory = DirectoryOf(id, step)}});
    cluster_.Set(run);
    return submission;
  }

  std::optional<ParentCheckpoint> Find(const std::string& directory) {
    const auto found = FindParent(cluster_, store_, directory);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(std::nullopt);
  }

  Cluster cluster_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
};

TEST_F(ParentCheckpointTest, TokensAreThoseOfTheStepsBefore) {
  EXPECT_EQ(Add("base", 150, 32).target_steps, 300);
  const auto parent = Find(DirectoryOf("base", 150));
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->run, RunId("base"));
  EXPECT_EQ(parent->leg, 1);
  EXPECT_EQ(parent->step, 150);
  EXPECT_EQ(parent->tokens, 4800);
  EXPECT_FALSE(Find(DirectoryOf("base", 100)).has_value());
  EXPECT_FALSE(Find("/models/gpt2").has_value());
}

TEST_F(ParentCheckpointTest, AForkOfAForkWithAnotherBatchEndsWhereTheTokensDo) {
  Add("base", 150, 32);
  const Submission child = Add("child", 200, 64, DirectoryOf("base", 150));
  EXPECT_EQ(child.target_steps, 225) << "4,800 tokens of base and 75 steps of 64";
  EXPECT_EQ(child.target_tokens, 9600);
  EXPECT_EQ(StartOf(child), (runspec::TrainingStart{.step = 150, .tokens = 4800}));
  const auto parent = Find(DirectoryOf("child", 200));
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->tokens, 8000);
  const Submission grandchild = Add("grandchild", 201, 160, DirectoryOf("child", 200));
  EXPECT_EQ(grandchild.target_steps, 210);
  EXPECT_EQ(Find(DirectoryOf("grandchild", 201))->tokens, 8160);
}

TEST_F(ParentCheckpointTest, ACheckpointCountsWithTheRunFileOfItsLeg) {
  Add("base", 150, 32);
  RunValue run = *cluster_.FindRun(RunId("base"));
  run.ended_legs.push_back({run.leg, run.submission});
  run.leg.number = 2;
  Submission later = *run.submission;
  later.resolved.replace(later.resolved.find("total_tokens: 32"), 16, "total_tokens: 64");
  run.submission = std::make_shared<const Submission>(later);
  run.checkpoints.push_back({{.step = 160, .directory = DirectoryOf("base", 160)}, 1, {}, 2});
  cluster_.Set(run);
  EXPECT_EQ(Find(DirectoryOf("base", 150))->tokens, 4800);
  EXPECT_EQ(Find(DirectoryOf("base", 160))->tokens, 160 * 64);
}

TEST_F(ParentCheckpointTest, ARunFileThatCannotBeReadLeavesTheTokensUnknown) {
  Add("base", 150, 32);
  RunValue run = *cluster_.FindRun(RunId("base"));
  Submission broken = *run.submission;
  broken.resolved = "of another version";
  run.submission = std::make_shared<const Submission>(broken);
  cluster_.Set(run);
  EXPECT_EQ(Find(DirectoryOf("base", 150))->tokens, 0);
}

}  // namespace
}  // namespace gp::coordinator

// gp-trainer without a control plane.
#include <gtest/gtest.h>

#include "formats/checkpoint_directory.h"
#include "worker/engine/trainer/trainer_process.h"

namespace gp::engine {
namespace {

int Train(const ScopedDirectory& directory, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"--spec", directory.Path("run.yaml"), "--out",
                                        directory.Path("out")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return TrainerProcess(arguments, /*linked=*/false).Wait();
}

void WriteRun(const ScopedDirectory& directory) {
  directory.Write("run.yaml", TinyRunFile(directory.Write("text.txt", TinyText()), 16, 6));
}

std::string Newest(const ScopedDirectory& directory) {
  const auto newest = formats::FindNewestCheckpoint(directory.Path("out/checkpoints"));
  EXPECT_TRUE(newest.ok() && newest->has_value());
  return newest.ok() && *newest ? **newest : "";
}

std::string Content(const std::string& path) {
  const auto content = ReadFile(path);
  EXPECT_TRUE(content.ok()) << content.status();
  return content.ok() ? *content : "";
}

TEST(LoneTraining, GoingOnFromACheckpointGivesTheFilesOfAnUninterruptedRun) {
  const ScopedDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory), 0);
  const std::string last = Newest(directory);
  const std::string expected = Content(JoinPath(last, "model.safetensors"));
  const std::string optimizer = Content(JoinPath(last, "optimizer.safetensors"));
  ASSERT_TRUE(RemoveTree(last).ok());
  ASSERT_EQ(Train(directory), 0);
  EXPECT_TRUE(Content(JoinPath(Newest(directory), "model.safetensors")) == expected);
  EXPECT_TRUE(Content(JoinPath(Newest(directory), "optimizer.safetensors")) == optimizer);
  const std::string metrics = Content(directory.Path("out/metrics.jsonl"));
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 16);
}

TEST(LoneTraining, AModelThatCannotFitIsRefusedAtOnceAsAMistakeOfTheRunFile) {
  const ScopedDirectory directory;
  WriteRun(directory);
  EXPECT_EQ(Train(directory, {"--set", "model.n_layer=96", "--set", "model.n_embd=32768"}), 2);
}

TEST(LoneTraining, AFinishedRunIsLeftAsItIs) {
  const ScopedDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory), 0);
  const std::string last = Newest(directory);
  ASSERT_EQ(Train(directory), 0);
  EXPECT_EQ(Newest(directory), last);
}

TEST(LoneTraining, KeepsTheNewestCheckpointsAndTheBest) {
  const ScopedDirectory directory;
  WriteRun(directory);
  ASSERT_EQ(Train(directory, {"--set", "checkpoint.every=2", "--set", "checkpoint.keep_last=1"}),
            0);
  const auto left = ListDirectory(directory.Path("out/checkpoints"));
  ASSERT_TRUE(left.ok());
  // Step 16 is the newest and, at the end of so short a run, the best of the evaluated steps 8
  // and 16.
  EXPECT_EQ(left->size(), 1u);
}

TEST(LoneTraining, ASignalSavesTheStepAndTheNextRunGoesOn) {
  const ScopedDirectory directory;
  WriteRun(directory);
  TrainerProcess process({"--spec", directory.Path("run.yaml"), "--out", directory.Path("out"),
                          "--set", "budget.steps=1000000", "--set", "checkpoint.every=0"},
                         /*linked=*/false);
  // The first lines of the records tell that it trains.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto trains = [&] {
    const auto size = FileSize(directory.Path("out/metrics.jsonl"));
    return size.ok() && *size > 0;
  };
  while (!trains() && std::chrono::steady_clock::now() < deadline) usleep(1000);
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  const auto manifest = formats::ReadManifest(Newest(directory));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_GE(manifest->step, 1);
}

TEST(LoneTraining, ProblemsOfTheRunFileExitWithTwo) {
  const ScopedDirectory directory;
  WriteRun(directory);
  EXPECT_EQ(Train(directory, {"--set", "optimizer.lrr=1"}), 2);
  EXPECT_EQ(Train(directory, {"--set", "batch.total_tokens=100"}), 2);
  EXPECT_EQ(Train(directory, {"--no-such-flag"}), 2);
  EXPECT_EQ(TrainerProcess({"--spec", directory.Path("absent.yaml")}, false).Wait(), 2);
  EXPECT_EQ(TrainerProcess({}, false).Wait(), 2);
}

TEST(LoneTraining, AWallTimeBecomesStepsOnceAndForAll) {
  const ScopedDirectory directory;
  WriteRun(directory);
  const std::vector<std::string> timed = {"--set", "budget.steps=0", "--set",
                                          "budget.wall_time=1s"};
  ASSERT_EQ(Train(directory, timed), 0);
  const std::string budget = Content(directory.Path("out/budget.json"));
  const auto first = formats::ReadManifest(Newest(directory));
  ASSERT_TRUE(first.ok());
  EXPECT_NE(budget.find(fmt::format("\"steps\":{}}}", first->step)), std::string::npos) << budget;
  EXPECT_EQ(first->record.at("step_budget"), std::to_string(first->step));
  ASSERT_TRUE(RemoveTree(directory.Path("out/checkpoints")).ok());
  ASSERT_EQ(Train(directory, timed), 0);
  const auto second = formats::ReadManifest(Newest(directory));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->step, first->step);
}

}  // namespace
}  // namespace gp::engine

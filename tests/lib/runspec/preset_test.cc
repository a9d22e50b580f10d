#include "runspec/preset.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "runspec/batch_plan.h"
#include "runspec/run_file.h"

namespace gp::runspec {
namespace {

RunSpec LoadPreset(const std::string& name) {
  RunFileResult result =
      LoadRunFile("", "run.yaml", {"preset=" + name, "data.text=a.txt", "data.tokenizer=bytes"});
  EXPECT_TRUE(result.spec.has_value()) << RenderProblems(result.problems);
  return result.spec.value_or(RunSpec{});
}

TEST(Preset, EveryOneIsAValidRunFileOnceItHasData) {
  for (const std::string& name : PresetNames()) {
    EXPECT_EQ(LoadPreset(name).preset, name);
    EXPECT_FALSE(PresetSummary(name).empty()) << name;
  }
}

// The page "Watch it learn" compares these checkpoints.
TEST(Preset, TheSmallOnesKeepALadderOfCheckpoints) {
  for (const char* name : {"tiny", "shakespeare-char", "shakespeare-char-gpu"}) {
    const RunSpec spec = LoadPreset(name);
    ASSERT_GT(spec.checkpoint.keep_every, 0) << name;
    EXPECT_GE(spec.budget.steps / spec.checkpoint.keep_every, 4) << name;
    EXPECT_EQ(spec.checkpoint.keep_every % spec.checkpoint.every_steps, 0) << name;
  }
}

TEST(Preset, Gpt2SizesAreThePublishedOnes) {
  RunFileResult result = LoadRunFile(
      "preset: gpt2-124m\ndata: {train: [a.bin], val: [b.bin]}\nresources: {workers: 8}\n",
      "run.yaml");
  ASSERT_TRUE(result.spec) << RenderProblems(result.problems);
  EXPECT_EQ(result.spec->model.vocabulary, 50257);
  EXPECT_EQ(result.spec->model.vocabulary_padded, 50304);
  EXPECT_EQ(PlanBatch(*result.spec)->accumulation, 4);
  EXPECT_EQ(TargetSteps(*result.spec), 19073);
}

TEST(Preset, NanoGptRecipeHasItsNumbers) {
  const RunSpec spec = LoadPreset("shakespeare-char");
  EXPECT_EQ(PlanBatch(spec)->tokens_per_step, 768);
  EXPECT_EQ(TargetSteps(spec), 2000);
  EXPECT_FALSE(spec.model.bias);
  EXPECT_EQ(spec.model.gelu, Gelu::kErf);
  EXPECT_EQ(spec.optimizer.beta2, 0.99);
  EXPECT_EQ(LoadPreset("shakespeare-char-gpu").model.channels, 384);
}

TEST(ShippedRunFiles, AllLoadWithoutWarnings) {
  const std::string directory = std::string(std::getenv("GP_SOURCE")) + "/configs/runs";
  const auto names = ListDirectory(directory);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_GE(names->size(), 3u);
  for (const std::string& name : *names) {
    const std::string path = JoinPath(directory, name);
    const RunFileResult result = LoadRunFile(*ReadFile(path), path);
    EXPECT_TRUE(result.spec) << RenderProblems(result.problems);
    EXPECT_TRUE(result.warnings.empty()) << RenderProblems(result.warnings, "warning");
  }
}

}  // namespace
}  // namespace gp::runspec

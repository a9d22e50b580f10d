// Goal: the ladder starts plain and ends at the engine's best, its batch stays in its limits, its
// chart holds every rung and is well-formed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/bench/ladder_chart.h"
#include "worker/bench/ladder_rungs.h"

namespace gp::engine {
namespace {

using testing::HasSubstr;

ModelOptions Tiny() {
  ModelOptions options{
      .shape = *runspec::NamedModelShape("tiny"), .micro_batch = 2, .sequence = 64};
  return options;
}

TEST(Ladder, LeadsFromThePlainModelToTheEnginesBest) {
  const LadderMachine machine{
      .cores = 4, .memory_bytes = int64_t{8} << 30, .tokens_per_step_max = 1024};
  LadderSettings settings = LadderStart(Tiny());
  const ModelOptions& options = settings.model;
  EXPECT_EQ(options.kind, runspec::EngineKind::kReference);
  EXPECT_FALSE(options.shape.tied_head);
  EXPECT_FALSE(settings.fused_optimizer);
  for (const LadderRung& rung : MakeLadder(Tiny(), machine)) {
    EXPECT_NE(rung.change == nullptr, rung.reason.empty()) << rung.name;
    if (rung.change) rung.change(settings);
  }
  EXPECT_EQ(options.kind, runspec::EngineKind::kFused);
  EXPECT_EQ(options.attention, runspec::Attention::kFlash);
  EXPECT_TRUE(options.shape.tied_head);
  EXPECT_EQ(options.shape.vocabulary_padded, Tiny().shape.vocabulary_padded);
  EXPECT_TRUE(settings.fused_optimizer);
  EXPECT_EQ(options.threads, 4);
  EXPECT_EQ(options.micro_batch, 16);  // 1024 tokens
}

TEST(Ladder, OnADeviceEndsWithGraphsAndItsPrecisions) {
  ModelOptions model = Tiny();
  model.device = {.on = true};
  const LadderMachine machine{.memory_bytes = int64_t{8} << 30, .tokens_per_step_max = 1024};
  LadderSettings settings = LadderStart(model);
  const ModelOptions& options = settings.model;
  EXPECT_EQ(options.kind, runspec::EngineKind::kEager);
  EXPECT_FALSE(options.device.graph);
  EXPECT_TRUE(options.device.deterministic);
  for (const LadderRung& rung : MakeLadder(model, machine)) rung.change(settings);
  EXPECT_EQ(options.kind, runspec::EngineKind::kFused);
  EXPECT_EQ(options.precision, runspec::Precision::kFp8);
  EXPECT_TRUE(options.device.on);
  EXPECT_TRUE(options.device.graph);
  EXPECT_FALSE(options.device.deterministic);
  EXPECT_TRUE(settings.fused_optimizer);
  EXPECT_EQ(options.micro_batch, 16);
}

TEST(Ladder, TakesNoLargerBatchThanMemoryHolds) {
  const LadderMachine small{.memory_bytes = 1, .tokens_per_step_max = 1 << 20};
  EXPECT_EQ(LargestBatch(Tiny(), small), 2);
}

TEST(LadderChart, ShowsEveryRung) {
  const std::vector<RungResult> rungs = {
      {.name = "first", .step_ms = {10, 9, 11}, .tokens_per_second = 100},
      {.name = "slower",
       .step_ms = {11, 10, 12},
       .tokens_per_second = 90,
       .gain = 0.9,
       .kept = false},
      {.name = "a < b & c", .reason = "this machine has one core"}};
  const std::string svg = LadderChart(rungs, "GPT-2 tiny");
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, HasSubstr(">first<"));
  EXPECT_THAT(svg, HasSubstr("not kept"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_THAT(svg, HasSubstr("not climbed: this machine has one core"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace gp::engine

#include "worker/bench/ladder_rungs.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

ModelOptions Tiny() {
  ModelOptions options{
      .shape = *runspec::NamedModelShape("tiny"), .micro_batch = 2, .sequence = 64};
  return options;
}

TEST(LadderRungs, LeadsFromThePlainModelToTheEnginesBest) {
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

TEST(LadderRungs, OnADeviceEndsWithGraphsAndItsPrecisions) {
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

TEST(LadderRungs, TakesNoLargerBatchThanMemoryHolds) {
  const LadderMachine small{.memory_bytes = 1, .tokens_per_step_max = 1 << 20};
  EXPECT_EQ(LargestBatch(Tiny(), small), 2);
}

}  // namespace
}  // namespace gp::engine

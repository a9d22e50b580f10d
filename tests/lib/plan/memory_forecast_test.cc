// Goal: the forecast equals the plan's total, the suggestion is the first change that fits, and
// `micro_batch: auto` is the largest micro-batch that fits.
#include "plan/memory_forecast.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/gpu_workspace.h"
#include "plan/model_part.h"

namespace gp::runspec {
namespace {

RunSpec Gpt2Spec() {
  RunSpec spec;
  spec.model = *NamedModelShape("124M");
  spec.batch.micro_batch = 8;
  spec.batch.sequence = 256;
  spec.checkpoint.snapshot_memory = 0;
  spec.precision = Precision::kFp32;
  return spec;
}

constexpr BatchPlan kPlan{.logical_shards = 1, .accumulation = 1, .tokens_per_step = 8 * 256};

TEST(MemoryForecast, AddsUpToThePlan) {
  RunSpec spec = Gpt2Spec();
  spec.checkpoint.snapshot_memory = 1000;
  spec.optimizer.kind = OptimizerKind::kMuon;
  const MemoryForecast forecast = ForecastMemory(spec, kPlan, 2);
  const ArenaPlan plan = MakeTrainingPlan(spec.model, TrainingOptionsOf(spec, 2, 0, 1));
  EXPECT_EQ(forecast.total_bytes() - kProcessBytes, plan.total_bytes);
  const int64_t parameters = MakeParameterLayout(spec.model).total_count * 4;
  EXPECT_EQ(forecast.parameters_bytes, parameters);
  EXPECT_EQ(forecast.gradients_bytes, parameters);
  EXPECT_EQ(forecast.optimizer_bytes, 2 * parameters + 2 * (8 + 5) * 768 * 768 * 4);
  EXPECT_EQ(forecast.snapshot_bytes, 1024);  // rounded up to the alignment
  spec.sample.every_steps = 10;
  EXPECT_GT(ForecastMemory(spec, kPlan, 2).sampling_bytes, 0);
}

// A CPU uses no memory for pages that are never written; a GPU's memory is allocated at once.
TEST(MemoryForecast, LeavesOutGradientsAndMomentsOfFrozenParts) {
  RunSpec spec = Gpt2Spec();
  const MemoryForecast whole = ForecastMemory(spec, kPlan, 2);
  spec.train = {"last 2 blocks", "ln_f"};
  const MemoryForecast part = ForecastMemory(spec, kPlan, 2);
  const int64_t trained =
      TrainedParameterCount(MakeParameterLayout(spec.model, TrainedPartsOf(spec)));
  // A little more than the trained tensors, because small frozen tensors lie between them.
  for (const auto& [bytes, each] :
       {std::pair(part.gradients_bytes, 4), std::pair(part.optimizer_bytes, 8)}) {
    EXPECT_GE(bytes, each * trained);
    EXPECT_LE(bytes, each * trained * 102 / 100);
  }
  EXPECT_EQ(part.parameters_bytes, whole.parameters_bytes);
  spec.resources.device = "gpu";
  EXPECT_EQ(ForecastMemory(spec, kPlan, 2).optimizer_bytes, whole.optimizer_bytes);
}

TEST(MemoryForecast, OnAGpuIsOfItsMemory) {
  RunSpec spec = Gpt2Spec();
  spec.resources.device = "gpu";
  spec.checkpoint.snapshot_memory = 1 << 30;
  spec.precision = Precision::kFp16;
  const MemoryForecast forecast = ForecastMemory(spec, kPlan, 2);
  const int64_t parameters = MakeParameterLayout(spec.model).total_count;
  EXPECT_EQ(forecast.parameters_bytes, parameters * (4 + 2));
  EXPECT_EQ(forecast.snapshot_bytes, 0);
  EXPECT_EQ(forecast.process_bytes, kGpuProcessBytes);
  BatchPlan two_ranks = kPlan;
  two_ranks.logical_shards = 2;
  EXPECT_EQ(ForecastMemory(spec, two_ranks, 2, 2).process_bytes, kGpuProcessBytes + kGpuGroupBytes);
  const ArenaOptions arena = TrainingOptionsOf(spec, 2, 0, 1).arena;
  EXPECT_EQ(forecast.workspace_bytes, (GpuWorkspaceBytes(spec.model, arena) + 63) / 64 * 64);
  const ArenaPlan plan = MakeTrainingPlan(spec.model, TrainingOptionsOf(spec, 2, 0, 1));
  EXPECT_FALSE(plan.has("batch.tokens"));
  EXPECT_EQ(plan.at("h.0.qkv").type, "fp16");
}

TEST(GpuWorkspace, PiecesFollowEachOther) {
  RunSpec spec = Gpt2Spec();
  spec.resources.device = "gpu";
  const auto end = [&](const ArenaOptions& arena) {
    int64_t last = 0;
    for (const GpuWorkspacePiece& piece : GpuWorkspace(spec.model, arena)) {
      EXPECT_GE(piece.offset_bytes, last) << piece.name;
      EXPECT_EQ(piece.offset_bytes % 256, 0);
      last = piece.offset_bytes + piece.size_bytes;
    }
    EXPECT_GE(GpuWorkspaceBytes(spec.model, arena), last);
    return last;
  };
  const ArenaOptions large = TrainingOptionsOf(spec, 2, 0, 1).arena;
  EXPECT_GE(end(WithPrecision(Precision::kFp8, large)), end(large));
  // With few rows, the fp8 copies of a weight need more than attention's sums.
  spec.batch.micro_batch = 1;
  const ArenaOptions small = TrainingOptionsOf(spec, 2, 0, 1).arena;
  EXPECT_GT(end(WithPrecision(Precision::kFp8, small)), end(small));
}

TEST(MemoryForecast, IsTheBusiestRanks) {
  EXPECT_EQ(GradientBuffers(0, 1), 1);
  EXPECT_EQ(GradientBuffers(0, 2), 2);
  EXPECT_EQ(GradientBuffers(0, 4), 3);
  EXPECT_EQ(GradientBuffers(0, 8), 4);
  EXPECT_EQ(GradientBuffers(1, 2), 2);  // the two leaves are not siblings
  EXPECT_EQ(GradientBuffers(3, 5), 4);
  RunSpec spec = Gpt2Spec();
  BatchPlan plan = kPlan;
  plan.logical_shards = 4;
  const int64_t gradient = MakeParameterLayout(spec.model).total_count * 4;
  EXPECT_EQ(ForecastMemory(spec, plan, 2, 1).gradients_bytes, 3 * gradient);
  EXPECT_EQ(ForecastMemory(spec, plan, 2, 2).gradients_bytes, 2 * gradient);
  EXPECT_EQ(ForecastMemory(spec, plan, 2, 3).gradients_bytes, 2 * gradient);
  EXPECT_EQ(ForecastMemory(spec, plan, 2, 4).gradients_bytes, gradient);
}

TEST(MemoryForecast, EachOfSeveralGpusKeepsAPartOfTheMomentsWithZero1) {
  RunSpec spec = Gpt2Spec();
  spec.resources.device = "gpu";
  const BatchPlan plan{.logical_shards = 4, .accumulation = 1};
  const int64_t whole = ForecastMemory(spec, plan, 2, 4).optimizer_bytes;
  spec.engine.zero1 = true;
  EXPECT_EQ(ForecastMemory(spec, plan, 2, 1).optimizer_bytes, whole);
  EXPECT_NEAR(static_cast<double>(ForecastMemory(spec, plan, 2, 4).optimizer_bytes),
              static_cast<double>(whole) / 4, 256);
}

TEST(RanksBeside, AreThoseThatTheProcessorsHaveRoomFor) {
  EXPECT_EQ(RanksBeside(8, 4, 2), 2);
  EXPECT_EQ(RanksBeside(8, 4, 64), 2) << "the others are on other machines";
  EXPECT_EQ(RanksBeside(8, 8, 64), 1);
  EXPECT_EQ(RanksBeside(8, 16, 2), 1);
  EXPECT_EQ(RanksBeside(1, 0, 4), 1);
}

TEST(SuggestFit, NamesTheFirstChangeThatFits) {
  const RunSpec spec = Gpt2Spec();
  const auto needs = [&](int64_t micro_batch, Recompute recompute, int64_t chunk) {
    RunSpec changed = spec;
    changed.batch.micro_batch = micro_batch;
    changed.engine.recompute = recompute;
    changed.engine.chunked_head = chunk;
    return ForecastMemory(changed, kPlan, 2).total_bytes();
  };
  const auto suggestion = [&](int64_t bytes) {
    const auto fit = SuggestFit(spec, kPlan, 2, bytes);
    return fit ? fit->settings : "none";
  };
  EXPECT_EQ(suggestion(needs(4, Recompute::kNone, 0)),
            "batch.micro_batch=4, batch.total_tokens=2048");
  EXPECT_EQ(suggestion(needs(4, Recompute::kNone, 0) - 1),
            "batch.micro_batch=2, batch.total_tokens=2048");
  EXPECT_EQ(suggestion(needs(1, Recompute::kGelu, 0)),
            "batch.micro_batch=1, batch.total_tokens=2048, engine.recompute=gelu");
  EXPECT_EQ(suggestion(needs(1, Recompute::kBlock, 0)),
            "batch.micro_batch=1, batch.total_tokens=2048, engine.recompute=block");
  EXPECT_EQ(suggestion(needs(1, Recompute::kBlock, 64)),
            "batch.micro_batch=1, batch.total_tokens=2048, engine.recompute=block, "
            "engine.chunked_head=64");
  EXPECT_EQ(suggestion(needs(1, Recompute::kBlock, 64) - 1), "none");
}

TEST(MemoryProblem, SaysWhatIsNeededAvailableAndWhatWouldFit) {
  const RunSpec spec = Gpt2Spec();
  const int64_t needed = ForecastMemory(spec, kPlan, 2).total_bytes();
  EXPECT_FALSE(MemoryProblem(spec, kPlan, 2, needed, "MemAvailable"));
  const auto problem = MemoryProblem(spec, kPlan, 2, needed - 1, "MemAvailable");
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find(std::to_string(needed)), std::string::npos) << *problem;
  EXPECT_NE(
      problem->find("(MemAvailable); batch.micro_batch=4, batch.total_tokens=2048 would need"),
      std::string::npos)
      << *problem;
  const auto hopeless = MemoryProblem(spec, kPlan, 2, 1000, "MemAvailable");
  ASSERT_TRUE(hopeless);
  EXPECT_NE(hopeless->find("choose a smaller model"), std::string::npos) << *hopeless;
}

TEST(LargestMicroBatch, IsTheLargestPowerOfTwoThatDividesAndFits) {
  RunSpec spec = Gpt2Spec();
  BatchPlan plan = kPlan;
  plan.accumulation = 24;  // sequences per shard
  EXPECT_EQ(LargestMicroBatch(spec, plan, 2, int64_t{1} << 40), 8);
  spec.batch.micro_batch = 4;
  const int64_t four = ForecastMemory(spec, plan, 2).total_bytes();
  EXPECT_EQ(LargestMicroBatch(spec, plan, 2, four), 4);
  EXPECT_EQ(LargestMicroBatch(spec, plan, 2, four - 1), 2);
  EXPECT_EQ(LargestMicroBatch(spec, plan, 2, 1000), 0);
}

}  // namespace
}  // namespace gp::runspec

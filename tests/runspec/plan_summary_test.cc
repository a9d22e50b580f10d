#include "runspec/plan_summary.h"

#include <gtest/gtest.h>

#include "runspec/run_file.h"

namespace gp::runspec {
namespace {

TEST(PlanSummary, SaysWhatTheRunWillBe) {
  const RunFileResult result = LoadRunFile(
      "preset: build-nanogpt\ndata: {train: [a.bin], val: [b.bin]}\nresources: {workers: 8}\n",
      "run.yaml");
  ASSERT_TRUE(result.spec) << RenderProblems(result.problems);
  const std::string text = PlanSummary(*result.spec);
  for (const char* part :
       {"12 layers, 12 heads, 768 wide, context 1024, gpt2; 124,475,904 parameters",
        "524,288 tokens a step = 8 logical shards x 1 micro-batches x 64 sequences x 1024 tokens, "
        "on 8 ranks",
        "19,073 steps = 9,999,745,024 tokens; warm-up 715 steps, lr 0.0006 -> 6e-05 cosine",
        "1.5 GB each, every 1,000 steps; the last 3 and the best kept"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(PlanSummary, NamesTheWallTimeOfARunWithoutSteps) {
  const RunFileResult result =
      LoadRunFile("preset: tiny\ndata: {text: [a]}\nbudget: {wall_time: 2m}\n", "run.yaml");
  ASSERT_TRUE(result.spec);
  EXPECT_NE(PlanSummary(*result.spec).find("schedule     2m00s; warm-up"), std::string::npos)
      << PlanSummary(*result.spec);
}

TEST(MemoryForecast, GrowsWithTheMicroBatchAndShrinksWithRanks) {
  RunSpec spec;
  spec.resources = {.workers = 1, .max_workers = 4};
  const int64_t one_rank = ForecastMemory(spec).rank_bytes;
  spec.resources.workers = 4;
  const int64_t four_ranks = ForecastMemory(spec).rank_bytes;
  spec.batch.micro_batch *= 2;
  EXPECT_LT(four_ranks, one_rank);
  EXPECT_GT(ForecastMemory(spec).rank_bytes, four_ranks);
}

TEST(FormatBytes, KeepsTwoOrThreeDigits) {
  EXPECT_EQ(FormatBytes(812), "812 B");
  EXPECT_EQ(FormatBytes(9'658'343), "9.7 MB");
  EXPECT_EQ(FormatBytes(999'700), "1.0 MB");
  EXPECT_EQ(FormatBytes(1'493'277'696), "1.5 GB");
  EXPECT_EQ(FormatBytes(36'000'000'000), "36 GB");
}

}  // namespace
}  // namespace gp::runspec

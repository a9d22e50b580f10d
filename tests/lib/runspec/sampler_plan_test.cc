#include "runspec/sampler_plan.h"

#include <gtest/gtest.h>

namespace gp::runspec {
namespace {

const ModelShape kGpt2 = {.layers = 12,
                          .heads = 12,
                          .channels = 768,
                          .context = 1024,
                          .vocabulary = 50257,
                          .vocabulary_padded = 50304};

SamplerPlan Plan(uint64_t memory_bytes, int64_t streams_max, Precision precision) {
  const auto plan = MakeSamplerPlan(kGpt2, {.precision = precision,
                                            .threads = 2,
                                            .streams_max = streams_max,
                                            .memory_bytes = memory_bytes});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.value_or(SamplerPlan());
}

TEST(SamplerPlan, TakesAsManyStreamsAsWantedWhereTheyFit) {
  const SamplerPlan plan = Plan(uint64_t{1} << 40, 32, Precision::kFp32);
  EXPECT_EQ(plan.streams, 32);
  // Matrices: 494 MB. Token embedding: 154 MB. Keys and values: 75.5 MB per stream.
  EXPECT_GT(plan.total_bytes, 648'000'000u + 32u * 75'000'000u);
  EXPECT_LT(plan.total_bytes, 648'000'000u + 32u * 76'500'000u + 80'000'000u);
}

// A context of one token keeps the key-value cache small.
TEST(SamplerPlan, CountsTheLargestTensorThatIsReadBesideTheWeights) {
  ModelShape shape = kGpt2;
  shape.layers = 1;
  shape.context = 1;
  const auto plan = MakeSamplerPlan(shape, {.prompt_rows = 1, .memory_bytes = uint64_t{1} << 40});
  ASSERT_TRUE(plan.ok()) << plan.status();
  // Three times: as rows, as the head's matrix, and in the file.
  const uint64_t embedding = 4u * 50304 * 768;
  const uint64_t block = 4u * 12 * 768 * 768;
  EXPECT_GT(plan->total_bytes, 3 * embedding + block);
  EXPECT_LT(plan->total_bytes, 3 * embedding + block + 20'000'000);
}

TEST(SamplerPlan, TakesTheMostThatFit) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const SamplerPlan plan = Plan(uint64_t{2} << 30, 1000, precision);
    EXPECT_LE(plan.total_bytes, uint64_t{2} << 30);
    const SamplerPlan more = Plan(uint64_t{1} << 40, plan.streams + 1, precision);
    EXPECT_GT(more.total_bytes, uint64_t{2} << 30);
    EXPECT_EQ(Plan(plan.total_bytes, 1000, precision).streams, plan.streams);
  }
}

TEST(SamplerPlan, SaysWhatOneStreamNeeds) {
  const auto plan = MakeSamplerPlan(kGpt2, {.memory_bytes = 1 << 20});
  EXPECT_EQ(plan.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(Message(plan.status()).find("1048576"), std::string::npos) << plan.status();
}

}  // namespace
}  // namespace gp::runspec

// Goal: masks drop the right share of elements, evenly over rows and columns, and every part of the
// key changes the mask.
#include "worker/engine/backend/dropout_key.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "worker/engine/backend/backend_fixture.h"

namespace gp::engine {
namespace {

constexpr int kRows = 300;
constexpr int kColumns = 300;

std::vector<bool> MaskOf(const Dropout& dropout) {
  std::vector<bool> kept;
  for (uint64_t row = 0; row < kRows; ++row) {
    const uint64_t key = DropoutRowKey(DropoutSiteKey(dropout), row);
    for (uint32_t column = 0; column < kColumns; ++column) {
      kept.push_back(DropoutHash(key, column) >= DropoutThreshold(dropout));
    }
  }
  return kept;
}

double ShareOf(const std::vector<bool>& mask) {
  double kept = 0;
  for (const bool value : mask) kept += value ? 1 : 0;
  return kept / static_cast<double>(mask.size());
}

TEST(Dropout, KeepsTheShareItShould) {
  for (const double probability : {0.0, 0.1, 0.5, 0.9}) {
    const std::vector<bool> mask = MaskOf({.probability = probability, .seed = 4});
    // Five standard deviations for 90,000 draws are less than 0.009.
    EXPECT_NEAR(ShareOf(mask), 1 - probability, 0.009);
  }
}

TEST(Dropout, TreatsRowsAndColumnsAlike) {
  const std::vector<bool> mask = MaskOf({.probability = 0.5, .seed = 5});
  for (int i = 0; i < kRows; ++i) {
    double row = 0;
    double column = 0;
    for (int j = 0; j < kColumns; ++j) {
      row += mask[static_cast<size_t>(i * kColumns + j)] ? 1 : 0;
      column += mask[static_cast<size_t>(j * kColumns + i)] ? 1 : 0;
    }
    // Six standard deviations for 300 draws.
    EXPECT_NEAR(row / kColumns, 0.5, 0.175) << "row " << i;
    EXPECT_NEAR(column / kRows, 0.5, 0.175) << "column " << i;
  }
}

TEST(Dropout, MasksOfDifferentKeysAgreeByChanceOnly) {
  const Dropout base{
      .probability = 0.5, .seed = 6, .step = 1, .shard = 1, .micro_batch = 1, .site = 1};
  const std::vector<bool> mask = MaskOf(base);
  std::vector<Dropout> others(5, base);
  others[0].seed = 7;
  others[1].step = 2;
  others[2].shard = 2;
  others[3].micro_batch = 2;
  others[4].site = 2;
  for (const Dropout& dropout : others) {
    const std::vector<bool> other = MaskOf(dropout);
    std::vector<bool> equal;
    for (size_t i = 0; i < mask.size(); ++i) equal.push_back(mask[i] == other[i]);
    EXPECT_NEAR(ShareOf(equal), 0.5, 0.009);
  }
  EXPECT_EQ(MaskOf(base), mask);
}

// A run's weights after a resume depend on the mask, so the hash must never change.
TEST(Dropout, TheMaskOfAKeyIsTheSameInEveryVersion) {
  const Dropout dropout{
      .probability = 0.25, .seed = 1, .step = 2, .shard = 3, .micro_batch = 4, .site = 5};
  EXPECT_EQ(DropoutBatchKey(dropout), 0xf4d748ef02b95d87u);
  EXPECT_EQ(DropoutSiteKey(dropout), 0xa38c9ab62f63c7a9u);
  const uint64_t row_key = DropoutRowKey(DropoutSiteKey(dropout), 6);
  EXPECT_EQ(row_key, 0x796c8605b91ea4ddu);
  EXPECT_EQ(DropoutHash(row_key, 0), 0x57608d9eu);
  EXPECT_EQ(DropoutHash(row_key, 3), 0xee42d120u);
  const uint64_t batch_key = DropoutBatchKey(dropout);
  const Dropout given{.probability = 0.25, .site = 5, .key = &batch_key};
  EXPECT_EQ(DropoutSiteKey(given), DropoutSiteKey(dropout)) << "a key stands for its parts";
}

TEST(Dropout, ThresholdsAndScalesOfProbabilities) {
  EXPECT_EQ(DropoutThreshold({.probability = 0}), 0u);
  EXPECT_EQ(DropoutThreshold({.probability = 0.25}), 0x40000000u);
  EXPECT_EQ(DropoutThreshold({.probability = 0.5}), 0x80000000u);
  EXPECT_EQ(DropoutScale({.probability = 0}), 1.0f);
  EXPECT_EQ(DropoutScale({.probability = 0.2}), 1.25f);
  EXPECT_EQ(DropoutScale({.probability = 0.5}), 2.0f);
  EXPECT_EQ(DropoutScale({.probability = 0.75}), 4.0f);
}

// The expected numbers are written out, because computing them with the functions under test would
// repeat any mistake.
TEST(Dropout, KeptValuesAreScaledSoThatTheirMeanStays) {
  const Dropout dropout{.probability = 0.2, .seed = 8};
  for (const Isa isa : SupportedIsas()) {
    const auto backend = MakeTestBackend(isa);
    std::vector<float> in(kRows * kColumns, 10), branch(kRows * kColumns, 4), out(branch.size());
    const auto buffer = [](std::vector<float>& values) {
      return Buffer{values.data(), DataType::kFloat32};
    };
    backend->Residual(kRows, kColumns, buffer(out), buffer(in), buffer(branch), dropout);
    double sum = 0;
    for (const float value : out) {
      ASSERT_TRUE(value == 10 || value == 15) << value;  // 10 + 4 / (1 - 0.2)
      sum += value;
    }
    // Five standard deviations for 90,000 draws are less than 0.034.
    EXPECT_NEAR(sum / (kRows * kColumns), 14, 0.034);
    backend->ResidualBackward(kRows, kColumns, buffer(in), buffer(branch), dropout);
    for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(in[i], out[i] == 10 ? 0 : 5);
  }
}

}  // namespace
}  // namespace gp::engine

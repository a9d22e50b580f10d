// Goal: all other kernels equal plain loops for odd sizes, with every instruction set and in both
// types.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numbers>

#include "worker/engine/backend/backend_fixture.h"
#include "worker/engine/backend/cpu/kernels/kernel_set.h"
#include "worker/engine/backend/dropout_key.h"

namespace gp::engine {
namespace {

const Dropout kDropout{.probability = 0.3, .seed = 1, .step = 2, .shard = 3, .site = 5};

class Kernels : public testing::TestWithParam<std::tuple<Isa, DataType>> {
 protected:
  Isa isa() const { return std::get<0>(GetParam()); }
  DataType type() const { return std::get<1>(GetParam()); }
  std::unique_ptr<Backend> backend_ = MakeTestBackend(isa());
};

double MaskAt(int64_t row, int64_t column) {
  const uint64_t key = DropoutRowKey(DropoutSiteKey(kDropout), static_cast<uint64_t>(row));
  const bool kept = DropoutHash(key, static_cast<uint32_t>(column)) >= DropoutThreshold(kDropout);
  return kept ? DropoutScale(kDropout) : 0;
}

double TanhGelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double ErfGelu(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }

TEST_P(Kernels, GeluAndItsSlope) {
  constexpr int64_t kCount = 10007;
  std::vector<float> points;
  for (int64_t i = 0; i < kCount; ++i) points.push_back(-12 + 24 * static_cast<float>(i) / kCount);
  for (const auto& [kind, exact] :
       {std::pair{runspec::Gelu::kErf, &ErfGelu}, std::pair{runspec::Gelu::kTanh, &TanhGelu}}) {
    Array in(points, type());
    Array out = Zeros(kCount, type());
    Array dy(std::vector<float>(kCount, 1), type());
    backend_->GeluForward(kCount, kind, out.buffer(), in.buffer());
    backend_->GeluBackward(kCount, kind, dy.buffer(), in.buffer());
    for (int64_t i = 0; i < kCount; ++i) {
      const double x = in.at(i);
      ASSERT_NEAR(out.at(i), exact(x), ToleranceOf(type(), std::abs(x)) / 2) << x;
      ASSERT_NEAR(dy.at(i), (exact(x + 1e-5) - exact(x - 1e-5)) / 2e-5, ToleranceOf(type(), 1))
          << x;
    }
  }
}

TEST_P(Kernels, ResidualLayerNormWithDropout) {
  constexpr int64_t kRows = 5;
  constexpr int64_t kChannels = 37;
  std::vector<float> in = RandomValues(kRows * kChannels, 1);
  const std::vector<float> gamma = RandomValues(kChannels, 2);
  const std::vector<float> beta = RandomValues(kChannels, 3);
  Array branch(RandomValues(kRows * kChannels, 4), type());
  Array out = Zeros(kRows * kChannels, type());
  std::vector<float> residual(in.size());
  std::vector<float> mean(kRows);
  std::vector<float> rstd(kRows);
  backend_->ResidualLayerNorm(
      Fp32(residual.data()), Fp32(in.data()), branch.buffer(), kDropout,
      {kRows, kChannels, out.buffer(), mean.data(), rstd.data(), {}, gamma.data(), beta.data()});
  for (int64_t row = 0; row < kRows; ++row) {
    std::vector<double> x;
    double sum = 0;
    double squares = 0;
    for (int64_t c = 0; c < kChannels; ++c) {
      const int64_t at = row * kChannels + c;
      x.push_back(in[static_cast<size_t>(at)] + branch.at(at) * MaskAt(row, c));
      EXPECT_NEAR(residual[static_cast<size_t>(at)], x.back(), 1e-6);
      sum += x.back();
    }
    for (const double value : x) squares += std::pow(value - sum / kChannels, 2);
    for (int64_t c = 0; c < kChannels; ++c) {
      const auto k = static_cast<size_t>(c);
      const double norm = (x[k] - sum / kChannels) / std::sqrt(squares / kChannels + 1e-5);
      const double expected = norm * gamma[k] + beta[k];
      EXPECT_NEAR(out.at(row * kChannels + c), expected, ToleranceOf(type(), std::abs(expected)));
    }
  }
}

TEST_P(Kernels, ResidualBackwardDropsWhatForwardDropped) {
  constexpr int64_t kRows = 3;
  constexpr int64_t kChannels = 29;
  std::vector<float> ones(kRows * kChannels, 1);
  Array dbranch = Zeros(kRows * kChannels, type());
  backend_->ResidualBackward(kRows, kChannels, dbranch.buffer(), Fp32(ones.data()), kDropout);
  for (int64_t i = 0; i < kRows * kChannels; ++i) {
    EXPECT_NEAR(dbranch.at(i), MaskAt(i / kChannels, i % kChannels), ToleranceOf(type(), 0.5));
  }
}

TEST_P(Kernels, CrossEntropyIgnoresPaddingAndMaskedTargets) {
  constexpr CrossEntropyShape kLossShape{4, 35, 43};
  std::vector<float> values = RandomValues(kLossShape.rows * kLossShape.columns, 1, 3);
  for (int64_t row = 0; row < kLossShape.rows; ++row)
    values[static_cast<size_t>(row * 43 + 40)] = 1e4f;
  Array logits(values, type());
  const Array before = logits;
  const std::vector<int32_t> targets = {3, -1, 34, 0};
  std::vector<float> lse(4);
  const double loss =
      backend_->CrossEntropyForward(kLossShape, lse.data(), logits.buffer(), targets.data());
  backend_->CrossEntropyBackward(kLossShape, logits.buffer(), lse.data(), targets.data(), 0.5f);
  double expected_loss = 0;
  for (int64_t row = 0; row < kLossShape.rows; ++row) {
    const int32_t target = targets[static_cast<size_t>(row)];
    double sum = 0;
    for (int64_t j = 0; j < kLossShape.classes; ++j)
      sum += std::exp(double{before.at(row * 43 + j)});
    if (target >= 0) expected_loss += std::log(sum) - before.at(row * 43 + target);
    for (int64_t j = 0; j < kLossShape.columns; ++j) {
      double expected = 0;
      if (target >= 0 && j < kLossShape.classes) {
        expected = 0.5 * (std::exp(double{before.at(row * 43 + j)}) / sum - (j == target ? 1 : 0));
      }
      EXPECT_NEAR(logits.at(row * 43 + j), expected, ToleranceOf(type(), 0)) << row << " " << j;
    }
  }
  EXPECT_NEAR(loss, expected_loss, 1e-5);
}

TEST_P(Kernels, EmbeddingAddsTokensAndPositions) {
  constexpr int64_t kChannels = 21;
  const std::vector<int32_t> tokens = {4, 0, 4, 2, 4, 1};
  const std::vector<float> wte = RandomValues(5 * kChannels, 1);
  const std::vector<float> wpe = RandomValues(3 * kChannels, 2);
  std::vector<float> out(tokens.size() * kChannels);
  backend_->EmbeddingForward(2, 3, kChannels, Fp32(out.data()), tokens.data(), wte.data(),
                             wpe.data(), kDropout);
  std::vector<float> dwte(wte.size(), 1);
  std::vector<float> dwpe(wpe.size(), 1);
  backend_->EmbeddingBackward(2, 3, kChannels, dwte.data(), dwpe.data(), Fp32(out.data()),
                              tokens.data(), kDropout);
  std::vector<double> expected_dwte(wte.size(), 1);
  std::vector<double> expected_dwpe(wpe.size(), 1);
  for (int64_t i = 0; i < std::ssize(out); ++i) {
    const int64_t row = i / kChannels;
    const int64_t channel = i % kChannels;
    const auto token = static_cast<size_t>(tokens[static_cast<size_t>(row)] * kChannels + channel);
    const auto position = static_cast<size_t>(row % 3 * kChannels + channel);
    const double mask = MaskAt(row, channel);
    EXPECT_NEAR(out[static_cast<size_t>(i)], (wte[token] + wpe[position]) * mask, 1e-5);
    expected_dwte[token] += out[static_cast<size_t>(i)] * mask;
    expected_dwpe[position] += out[static_cast<size_t>(i)] * mask;
  }
  for (size_t i = 0; i < dwte.size(); ++i) EXPECT_NEAR(dwte[i], expected_dwte[i], 1e-5);
  for (size_t i = 0; i < dwpe.size(); ++i) EXPECT_NEAR(dwpe[i], expected_dwpe[i], 1e-5);
}

TEST_P(Kernels, RoundToBf16LikeTheDefinition) {
  std::vector<float> values = RandomValues(4099, 1, 100);
  values[0] = 1.00390625f;  // halfway between two bf16 values: rounds to even
  values[1] = 1.01171875f;
  values[2] = -0.0f;
  values[3] = std::numeric_limits<float>::infinity();
  std::vector<uint16_t> rounded(values.size());
  backend_->Round(std::ssize(values), rounded.data(), values.data(), {});
  EXPECT_EQ(rounded[3], 0x7f80);
  values[3] = 0;
  rounded[3] = 0;
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(rounded[i], ToBf16(values[i])) << values[i];
  const float nan = std::numeric_limits<float>::quiet_NaN();
  backend_->Round(1, rounded.data(), &nan, {});
  EXPECT_TRUE(std::isnan(FromBf16(rounded[0])));
}

TEST_P(Kernels, SumOfSquaresHasTheSameBitsForAnyThreads) {
  const std::vector<float> values = RandomValues(100003, 1);
  double expected = 0;
  for (const float value : values) expected += double{value} * value;
  const double sum = backend_->SumOfSquares(values.data(), std::ssize(values));
  EXPECT_NEAR(sum / expected, 1, 1e-12);
  for (const int threads : {1, 3, 5}) {
    EXPECT_EQ(MakeTestBackend(isa(), threads)->SumOfSquares(values.data(), std::ssize(values)),
              sum);
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, Kernels,
                         testing::Combine(testing::ValuesIn(SupportedIsas()),
                                          testing::Values(DataType::kFloat32, DataType::kBfloat16)),
                         [](const testing::TestParamInfo<std::tuple<Isa, DataType>>& parameter) {
                           return std::string(IsaName(std::get<0>(parameter.param))) +
                                  (std::get<1>(parameter.param) == DataType::kFloat32 ? "_fp32"
                                                                                      : "_as_bf16");
                         });

}  // namespace
}  // namespace gp::engine

// Goal: the three matrix products of a Linear layer equal plain loops for odd shapes, with every
// instruction set and in both types. Their bits depend neither on the number of threads nor on the
// number of rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numbers>
#include <utility>

#include "plan/packed_weight.h"
#include "worker/engine/backend/backend_fixture.h"

namespace gp::engine {
namespace {

// Sizes around those of tiles, panels and blocks: 8 rows, 48 columns, 256 of k, and 768 columns at
// a time.
const std::vector<LinearShape> kShapes = {{1, 1, 1},      {3, 5, 7},    {8, 16, 48},
                                          {9, 17, 49},    {13, 31, 96}, {70, 258, 53},
                                          {33, 515, 101}, {5, 40, 781}, {16, 65, 33}};

struct Case {
  Isa isa;
  DataType type;
  LinearShape shape;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Isa isa : SupportedIsas()) {
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
      for (const LinearShape& shape : kShapes) cases.push_back({isa, type, shape});
    }
  }
  return cases;
}

std::string Describe(const Case& c) {
  return std::string(IsaName(c.isa)) + (c.type == DataType::kFloat32 ? " fp32 " : " bf16 ") +
         std::to_string(c.shape.rows) + "x" + std::to_string(c.shape.in) + "->" +
         std::to_string(c.shape.out);
}

double GeluOf(double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }
double GeluSlope(double x) {
  return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) +
         x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}

TEST(Gemm, ForwardEqualsThePlainLoop) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(Describe(c));
    const auto [rows, in, out] = c.shape;
    const auto backend = MakeTestBackend(c.isa);
    Array x(RandomValues(rows * in, 1), c.type);
    Array w(RandomValues(out * in, 2, 0.1f), c.type);
    Array bias(RandomValues(out, 3), c.type);
    Array y = Zeros(rows * out, c.type);
    Array gelu = Zeros(rows * out, c.type);
    backend->Forward(LinearForward{c.shape, y.buffer(), x.buffer(), w.buffer(), bias.buffer(),
                                   gelu.buffer(), runspec::Gelu::kErf});
    for (int64_t i = 0; i < rows * out; ++i) {
      double sum = bias.at(i % out);
      double magnitude = 0;
      for (int64_t k = 0; k < in; ++k) {
        const double product = double{x.at(i / out * in + k)} * w.at(i % out * in + k);
        sum += product;
        magnitude += std::abs(product);
      }
      ASSERT_NEAR(y.at(i), sum, ToleranceOf(c.type, magnitude)) << "element " << i;
      ASSERT_NEAR(gelu.at(i), GeluOf(y.at(i)), ToleranceOf(c.type, std::abs(sum)));
    }
  }
}

TEST(Gemm, BackwardInputEqualsThePlainLoop) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(Describe(c));
    const auto [rows, in, out] = c.shape;
    const auto backend = MakeTestBackend(c.isa);
    Array dy(RandomValues(rows * out, 1), c.type);
    Array w(RandomValues(out * in, 2, 0.1f), c.type);
    Array pre_gelu(RandomValues(rows * in, 3), c.type);
    Array dx = Zeros(rows * in, c.type);
    backend->BackwardInput(
        {c.shape, dx.buffer(), dy.buffer(), w.buffer(), pre_gelu.buffer(), runspec::Gelu::kErf});
    for (int64_t i = 0; i < rows * in; ++i) {
      double sum = 0;
      double magnitude = 0;
      for (int64_t k = 0; k < out; ++k) {
        const double product = double{dy.at(i / in * out + k)} * w.at(k * in + i % in);
        sum += product;
        magnitude += std::abs(product);
      }
      ASSERT_NEAR(dx.at(i), sum * GeluSlope(pre_gelu.at(i)), ToleranceOf(c.type, magnitude));
    }
  }
}

TEST(Gemm, BackwardWeightEqualsThePlainLoopAndAccumulates) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(Describe(c));
    const auto [rows, in, out] = c.shape;
    const auto backend = MakeTestBackend(c.isa);
    Array dy(RandomValues(rows * out, 1), c.type);
    Array x(RandomValues(rows * in, 2), c.type);
    std::vector<float> dw(static_cast<size_t>(out * in), 99);
    std::vector<float> dbias(static_cast<size_t>(out), 99);
    for (const bool accumulate : {false, true}) {
      backend->BackwardWeight(
          {c.shape, dw.data(), dbias.data(), dy.buffer(), x.buffer(), accumulate});
    }
    for (int64_t i = 0; i < out * in; ++i) {
      double sum = 0;
      double bias_sum = 0;
      double magnitude = 0;
      for (int64_t row = 0; row < rows; ++row) {
        const double product = double{dy.at(row * out + i / in)} * x.at(row * in + i % in);
        sum += product;
        magnitude += std::abs(product);
        bias_sum += dy.at(row * out + i / in);
      }
      ASSERT_NEAR(dw[static_cast<size_t>(i)], 2 * sum, ToleranceOf(DataType::kFloat32, magnitude));
      ASSERT_NEAR(dbias[static_cast<size_t>(i / in)], 2 * bias_sum, 1e-4);
    }
  }
}

// The bits of one product with this number of threads.
std::vector<float> ProductBits(Isa isa, DataType type, LinearShape shape, int threads) {
  const auto backend = MakeTestBackend(isa, threads);
  Array x(RandomValues(70 * shape.in, 1), type);  // the same first rows for every shape.rows
  Array w(RandomValues(shape.out * shape.in, 2), type);
  std::vector<float> y(static_cast<size_t>(shape.rows * shape.out));
  backend->Forward(LinearForward{
      .shape = shape, .y = {y.data(), DataType::kFloat32}, .x = x.buffer(), .w = w.buffer()});
  return y;
}

TEST(Gemm, HasTheSameBitsForAnyNumberOfThreadsAndRows) {
  for (const Isa isa : SupportedIsas()) {
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
      const LinearShape shape{70, 601, 103};
      const std::vector<float> expected = ProductBits(isa, type, shape, 1);
      for (const int threads : {2, 3, 4, 7}) {
        EXPECT_EQ(ProductBits(isa, type, shape, threads), expected) << threads << " threads";
      }
      for (const int64_t rows : {1, 2, 5, 8, 9, 16, 17, 69}) {
        const std::vector<float> first = ProductBits(isa, type, {rows, 601, 103}, 2);
        EXPECT_TRUE(std::equal(first.begin(), first.end(), expected.begin())) << rows << " rows";
      }
    }
  }
}

// The bits of a product with a packed weight, packed as a whole or in pieces, as a decoder loads
// it.
std::vector<float> PackedProductBits(Isa isa, DataType type, LinearShape shape, int threads) {
  const auto backend = MakeTestBackend(isa, threads);
  Array x(RandomValues(70 * shape.in, 1), type);
  Array w(RandomValues(shape.out * shape.in, 2), type);
  Array packed = Zeros(runspec::PackedWeightElements(shape.out, shape.in), type);
  const int64_t piece = threads == 1 ? shape.out : runspec::kPackedColumns;
  for (int64_t first = 0; first < shape.out; first += piece) {
    backend->Pack({shape.in, first, std::min(piece, shape.out - first), packed.buffer(),
                   w.buffer().From(first * shape.in)});
  }
  std::vector<float> y(static_cast<size_t>(shape.rows * shape.out));
  backend->Forward(LinearForward{.shape = shape,
                                 .y = {y.data(), DataType::kFloat32},
                                 .x = x.buffer(),
                                 .w = packed.buffer(),
                                 .w_packed = true});
  return y;
}

TEST(PackedGemm, HasTheBitsOfOtherProducts) {
  // Widths around panels of 8, 24 and 48 columns; odd and even k, within one block and across
  // several.
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 1},   {2, 24},   {5, 23},   {16, 48},
                                                          {17, 49}, {130, 97}, {601, 103}};
  for (const Isa isa : SupportedIsas()) {
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
      for (const auto& [in, out] : sizes) {
        const std::vector<float> expected = ProductBits(isa, type, {70, in, out}, 1);
        for (const int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 31, 32, 33, 40, 64, 65, 70}) {
          for (const int threads : {1, 2, 3}) {
            const std::vector<float> y = PackedProductBits(isa, type, {rows, in, out}, threads);
            ASSERT_TRUE(std::equal(y.begin(), y.end(), expected.begin()))
                << IsaName(isa) << (type == DataType::kFloat32 ? " fp32 " : " bf16 ") << rows << "x"
                << in << "->" << out << " on " << threads << " threads";
          }
        }
      }
    }
  }
}

// Bias, GELU and rounding after the product, as a decoder uses them.
TEST(PackedGemm, EndsAsOtherProductsDo) {
  for (const Isa isa : SupportedIsas()) {
    for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
      const LinearShape shape{37, 50, 101};
      const auto backend = MakeTestBackend(isa);
      Array x(RandomValues(shape.rows * shape.in, 1), type);
      Array w(RandomValues(shape.out * shape.in, 2), type);
      Array bias(RandomValues(shape.out, 3), type);
      Array packed = Zeros(runspec::PackedWeightElements(shape.out, shape.in), type);
      backend->Pack({shape.in, 0, shape.out, packed.buffer(), w.buffer()});
      std::vector<std::vector<std::byte>> results;
      for (const bool w_packed : {false, true}) {
        std::vector<std::byte> y(static_cast<size_t>(shape.rows * shape.out) * 4);
        std::vector<std::byte> gelu(y.size());
        backend->Forward(LinearForward{.shape = shape,
                                       .y = {y.data(), type},
                                       .x = x.buffer(),
                                       .w = w_packed ? packed.buffer() : w.buffer(),
                                       .bias = bias.buffer(),
                                       .gelu = {gelu.data(), type},
                                       .w_packed = w_packed});
        y.insert(y.end(), gelu.begin(), gelu.end());
        results.push_back(y);
      }
      EXPECT_EQ(results[0], results[1]) << IsaName(isa);
    }
  }
}

TEST(Gemm, WidenedBf16HasTheBitsOfTheProcessorsOwnPairs) {
  if (!IsaSupported(Isa::kAvx512Bf16)) GTEST_SKIP() << "this processor has no avx512_bf16";
  const LinearShape shape{70, 601, 103};
  EXPECT_EQ(ProductBits(Isa::kAvx512, DataType::kBfloat16, shape, 1),
            ProductBits(Isa::kAvx512Bf16, DataType::kBfloat16, shape, 1));
  EXPECT_EQ(ProductBits(Isa::kAvx2, DataType::kBfloat16, shape, 1),
            ProductBits(Isa::kAvx512Bf16, DataType::kBfloat16, shape, 1));
}

}  // namespace
}  // namespace gp::engine

// Goal: the three products of a Linear layer equal the CPU backend's, with biases, with both GELUs,
// and for sizes that no epilogue supports, fused or not. The choice whether to fuse is made once
// and kept. FP8 results are as accurate as eight bits allow.
#include "worker/engine/backend/cuda/products/linear_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"

namespace gp::engine {
namespace {

using runspec::Gelu;

// The relative difference ||a - b|| / ||b||.
double Difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(difference / norm);
}

// The array's values as the device rounded them, in fp32 on the host.
std::vector<float> AsStored(const DeviceArray& array) {
  std::vector<float> values;
  for (int64_t i = 0; i < array.size(); ++i) values.push_back(array.at(i));
  return values;
}

class LinearProductsTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    workspace_.emplace(CublasLt::kWorkspaceBytes);
    scratch_memory_.emplace(int64_t{4} << 20);
    scratch_.emplace(scratch_memory_->data(), scratch_memory_->bytes());
    products_.emplace(workspace_->data());
  }
  LinearProducts Linear(const LinearOptions& options = {}) {
    LinearProducts linear(*products_, *scratch_, stream(), options);
    if (judge_) linear.set_judge(judge_);
    return linear;
  }
  // From now on, fuses every epilogue (`whole`) or none, if there is a choice.
  void SetFusion(bool whole) {
    products_.emplace(workspace_->data());
    judge_ = [=](const auto&, const auto&) { return whole; };
  }
  cudaStream_t stream() {
    if (!stream_) stream_.emplace();
    return stream_->get();
  }

  // Runs the forward pass on both backends; checks the relative difference of y and of gelu.
  void ExpectForward(const LinearShape& s, DataType type, bool bias, std::optional<Gelu> kind,
                     const LinearOptions& options, double tolerance) {
    const DeviceArray x(NormalValues(s.rows * s.in, 1), type),
        w(NormalValues(s.out * s.in, 2), type), b(NormalValues(s.out, 3), type);
    const DeviceArray y = Unwritten(s.rows * s.out, type), gelu = Unwritten(s.rows * s.out, type);
    Linear(options).Forward({.shape = s,
                             .y = y.buffer(),
                             .x = x.buffer(),
                             .w = w.buffer(),
                             .bias = bias ? b.buffer() : Buffer{},
                             .gelu = kind ? gelu.buffer() : Buffer{},
                             .kind = kind.value_or(Gelu::kTanh),
                             .may_be_fp8 = true});
    std::vector<float> expected(static_cast<size_t>(s.rows * s.out)), expected_gelu = expected;
    std::vector<float> x_host = AsStored(x), w_host = AsStored(w), b_host = AsStored(b);
    cpu_->Forward({.shape = s,
                   .y = Fp32(expected.data()),
                   .x = Fp32(x_host.data()),
                   .w = Fp32(w_host.data()),
                   .bias = bias ? Fp32(b_host.data()) : Buffer{},
                   .gelu = kind ? Fp32(expected_gelu.data()) : Buffer{},
                   .kind = kind.value_or(Gelu::kTanh)});
    EXPECT_LT(Difference(y.Get(), expected), tolerance);
    if (!kind) return;
    EXPECT_LT(Difference(gelu.Get(), expected_gelu), tolerance);
  }

  // Computes dx on both backends; with `accumulate_bias` also dbias, accumulated or overwritten.
  void ExpectBackwardInput(const LinearShape& s, DataType type, std::optional<Gelu> kind,
                           const LinearOptions& options, double tolerance,
                           std::optional<bool> accumulate_bias = std::nullopt) {
    const DeviceArray dy(NormalValues(s.rows * s.out, 1), type),
        w(NormalValues(s.out * s.in, 2), type), before(NormalValues(s.rows * s.in, 3), type);
    std::vector<float> expected_bias = NormalValues(s.in, 4);
    const DeviceArray dx = Unwritten(s.rows * s.in, type);
    const DeviceArray dbias(expected_bias, DataType::kFloat32);
    Linear(options).BackwardInput({.shape = s,
                                   .dx = dx.buffer(),
                                   .dy = dy.buffer(),
                                   .w = w.buffer(),
                                   .pre_gelu = kind ? before.buffer() : Buffer{},
                                   .kind = kind.value_or(Gelu::kTanh),
                                   .may_be_fp8 = true,
                                   .dbias = accumulate_bias ? dbias.f32() : nullptr,
                                   .accumulate_bias = accumulate_bias.value_or(false)});
    std::vector<float> expected(static_cast<size_t>(s.rows * s.in));
    std::vector<float> dy_host = AsStored(dy), w_host = AsStored(w), before_host = AsStored(before);
    cpu_->BackwardInput({.shape = s,
                         .dx = Fp32(expected.data()),
                         .dy = Fp32(dy_host.data()),
                         .w = Fp32(w_host.data()),
                         .pre_gelu = kind ? Fp32(before_host.data()) : Buffer{},
                         .kind = kind.value_or(Gelu::kTanh),
                         .dbias = accumulate_bias ? expected_bias.data() : nullptr,
                         .accumulate_bias = accumulate_bias.value_or(false)});
    EXPECT_LT(Difference(dx.Get(), expected), tolerance);
    EXPECT_LT(Difference(dbias.Get(), expected_bias), tolerance);
  }

  void ExpectBackwardInputAndBias(const LinearShape& s, DataType type, std::optional<Gelu> kind,
                                  const LinearOptions& options, double tolerance) {
    for (const bool accumulate : {false, true}) {
      ExpectBackwardInput(s, type, kind, options, tolerance, accumulate);
    }
  }

  void ExpectBackwardWeight(const LinearShape& s, DataType type, bool accumulate) {
    const DeviceArray dy(NormalValues(s.rows * s.out, 1), type),
        x(NormalValues(s.rows * s.in, 2), type);
    const std::vector<float> dw_before = NormalValues(s.out * s.in, 3);
    const std::vector<float> dbias_before = NormalValues(s.out, 4);
    const DeviceArray dw(dw_before, DataType::kFloat32), dbias(dbias_before, DataType::kFloat32);
    Linear().BackwardWeight({.shape = s,
                             .dw = dw.f32(),
                             .dbias = dbias.f32(),
                             .dy = dy.buffer(),
                             .x = x.buffer(),
                             .accumulate = accumulate});
    std::vector<float> expected = dw_before, expected_bias = dbias_before;
    std::vector<float> dy_host = AsStored(dy), x_host = AsStored(x);
    cpu_->BackwardWeight({.shape = s,
                          .dw = expected.data(),
                          .dbias = expected_bias.data(),
                          .dy = Fp32(dy_host.data()),
                          .x = Fp32(x_host.data()),
                          .accumulate = accumulate});
    EXPECT_LT(Difference(dw.Get(), expected), 1e-5);
    EXPECT_LT(Difference(dbias.Get(), expected_bias), 1e-5);
  }

  std::unique_ptr<Backend> cpu_ = MakeCpuBackend({});
  std::optional<DeviceMemory> workspace_;
  std::optional<DeviceMemory> scratch_memory_;
  std::optional<ScratchMemory> scratch_;
  std::optional<CublasLt> products_;
  std::optional<CudaStream> stream_;
  LinearProducts::Judge judge_;
};

// Odd shapes, which no epilogue with an aux buffer supports, and a shape that all support.
constexpr LinearShape kShapes[] = {{7, 21, 13}, {17, 40, 48}, {32, 16, 64}};

// Two roundings of half a unit in the last place, relative to the norm.
double ToleranceOf(DataType type) {
  if (type == DataType::kFloat32) return 1e-5;
  return type == DataType::kBfloat16 ? 5e-3 : 6e-4;
}

TEST_F(LinearProductsTest, ForwardEqualsTheCpus) {
  for (const DataType type : kDataTypes) {
    for (const LinearShape& shape : kShapes) {
      for (const bool bias : {false, true}) {
        for (const bool exact : {false, true}) {
          const LinearOptions options{.exact_gelu = exact};
          ExpectForward(shape, type, bias, std::nullopt, options, ToleranceOf(type));
          ExpectForward(shape, type, bias, Gelu::kTanh, options, ToleranceOf(type));
          ExpectForward(shape, type, bias, Gelu::kErf, options, ToleranceOf(type));
        }
      }
    }
  }
}

// The sum is exact to the result's type, because the product is not rounded before.
TEST_F(LinearProductsTest, AddsToAnotherMatrix) {
  for (const auto& [residual, type] : kTypePairs) {
    if (residual == DataType::kFloat16) continue;  // no residual stream is
    for (const LinearShape& s : kShapes) {
      for (const bool bias : {false, true}) {
        const DeviceArray x(NormalValues(s.rows * s.in, 1), type),
            w(NormalValues(s.out * s.in, 2), type), b(NormalValues(s.out, 3), residual),
            added(NormalValues(s.rows * s.out, 4), residual);
        const DeviceArray y = Unwritten(s.rows * s.out, residual);
        Linear().Forward({.shape = s,
                          .y = y.buffer(),
                          .x = x.buffer(),
                          .w = w.buffer(),
                          .bias = bias ? b.buffer() : Buffer{},
                          .added = added.buffer()});
        std::vector<float> expected(static_cast<size_t>(s.rows * s.out));
        std::vector<float> x_host = AsStored(x), w_host = AsStored(w), b_host = AsStored(b);
        cpu_->Forward({.shape = s,
                       .y = Fp32(expected.data()),
                       .x = Fp32(x_host.data()),
                       .w = Fp32(w_host.data()),
                       .bias = bias ? Fp32(b_host.data()) : Buffer{}});
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] += added.at(static_cast<int64_t>(i));
        }
        EXPECT_LT(Difference(y.Get(), expected), ToleranceOf(residual));
        EXPECT_EQ(added.Get(), AsStored(added));
      }
    }
  }
}

TEST_F(LinearProductsTest, BackwardInputEqualsTheCpus) {
  for (const DataType type : kDataTypes) {
    for (const LinearShape& shape : kShapes) {
      for (const bool exact : {false, true}) {
        const LinearOptions options{.exact_gelu = exact};
        ExpectBackwardInput(shape, type, std::nullopt, options, ToleranceOf(type));
        ExpectBackwardInput(shape, type, Gelu::kTanh, options, ToleranceOf(type));
        ExpectBackwardInput(shape, type, Gelu::kErf, options, ToleranceOf(type));
      }
    }
  }
}

TEST_F(LinearProductsTest, BackwardInputSumsTheBiasInFrontOfIt) {
  for (const DataType type : kDataTypes) {
    for (const LinearShape& shape : kShapes) {
      ExpectBackwardInputAndBias(shape, type, std::nullopt, {}, ToleranceOf(type));
      ExpectBackwardInputAndBias(shape, type, Gelu::kTanh, {}, ToleranceOf(type));
      ExpectBackwardInputAndBias(shape, type, Gelu::kErf, {}, ToleranceOf(type));
    }
  }
  ExpectBackwardInputAndBias({32, 48, 64}, DataType::kBfloat16, Gelu::kTanh, {.fp8 = true}, 1e-1);
}

TEST_F(LinearProductsTest, BackwardWeightEqualsTheCpus) {
  for (const DataType type : kDataTypes) {
    for (const LinearShape& shape : kShapes) {
      ExpectBackwardWeight(shape, type, false);
      ExpectBackwardWeight(shape, type, true);
    }
  }
}

TEST_F(LinearProductsTest, AsOneProductOrInPiecesEqualTheCpus) {
  for (const bool whole : {true, false}) {
    SCOPED_TRACE(whole);
    SetFusion(whole);
    for (const DataType type : kDataTypes) {
      for (const LinearShape& shape : kShapes) {
        ExpectForward(shape, type, true, Gelu::kTanh, {}, ToleranceOf(type));
        ExpectBackwardInput(shape, type, Gelu::kTanh, {}, ToleranceOf(type));
        ExpectBackwardInputAndBias(shape, type, Gelu::kTanh, {}, ToleranceOf(type));
        ExpectBackwardWeight(shape, type, false);
        ExpectBackwardWeight(shape, type, true);
      }
    }
  }
}

// Whether each choice for products with this epilogue in their names is to fuse it.
std::vector<bool> Computed(const CublasLt& products, const std::string& epilogue) {
  std::vector<bool> computed;
  std::stringstream text(products.InUse().Encode());
  for (std::string choice; std::getline(text, choice, ';');) {
    if (choice.find(epilogue + "_") == std::string::npos) continue;
    computed.push_back(!choice.ends_with("=0"));
  }
  return computed;
}

TEST_F(LinearProductsTest, AreJudgedOncePerKindAndThenAsChosen) {
  const LinearShape shape{1300, 16, 64};
  const DeviceArray dy(NormalValues(shape.rows * shape.out, 1), DataType::kBfloat16),
      x(NormalValues(shape.rows * shape.in, 2), DataType::kBfloat16);
  const auto gradients = [&](LinearProducts linear) {
    const DeviceArray dw(NormalValues(shape.out * shape.in, 3), DataType::kFloat32),
        dbias(NormalValues(shape.out, 4), DataType::kFloat32);
    for (const bool accumulate : {false, true, true}) {
      linear.BackwardWeight({.shape = shape,
                             .dw = dw.f32(),
                             .dbias = dbias.f32(),
                             .dy = dy.buffer(),
                             .x = x.buffer(),
                             .accumulate = accumulate});
    }
    std::vector<float> values = dw.Get(), more = dbias.Get();
    values.insert(values.end(), more.begin(), more.end());
    return values;
  };
  for (const bool whole : {true, false}) {
    SetFusion(whole);
    int asked = 0;
    judge_ = [&](const auto&, const auto&) { return ++asked, whole; };
    const std::vector<float> expected = gradients(Linear());
    const std::vector<bool> computed = Computed(*products_, "_sums");
    if (computed.empty()) GTEST_SKIP() << "cuBLASLt has no sums of dy here";
    EXPECT_EQ(asked, 2);  // once with `accumulate` and once without
    EXPECT_EQ(computed, std::vector<bool>(2, whole));
    const GemmChoices choices = products_->InUse();
    products_.emplace(workspace_->data(), GemmChoices::Parse(choices.Encode()));
    EXPECT_EQ(gradients(Linear()), expected);
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(products_->InUse(), choices);
  }
}

// Every device has between 1 and 512 multiprocessors, so without a judge the smallest product is
// never fused and the largest one always.
TEST_F(LinearProductsTest, WithoutAJudgeFuseTheSumsOfLargeGradientsAlone) {
  alignas(256) static std::byte nowhere[256];
  const Buffer any{nowhere, DataType::kBfloat16};
  const auto computed = [&](const LinearShape& shape) {
    products_.emplace(workspace_->data());
    Linear({.dry = true})
        .BackwardWeight({.shape = shape, .dw = any.f32(), .dbias = any.f32(), .dy = any, .x = any});
    return Computed(*products_, "_sums");
  };
  if (computed({64, 128, 128}).empty()) GTEST_SKIP() << "cuBLASLt has no sums of dy here";
  EXPECT_EQ(computed({64, 128, 128}), std::vector<bool>{false});
  EXPECT_EQ(computed({64, 4096, 4096}), std::vector<bool>{true});
}

// This epilogue computes the sums from dx after rounding to its type. In bf16 this loses digits,
// which only a measured gain justifies; in fp16 it may overflow, which nothing justifies; with TF32
// the sums stay in fp32.
TEST_F(LinearProductsTest, FuseTheSumsOfDxWhereNothingIsLostOrAClockSaysSo) {
  alignas(256) static std::byte nowhere[256];
  const auto computed = [&](DataType type, bool has_judge) {
    products_.emplace(workspace_->data());
    const Buffer any{nowhere, type};
    LinearProducts linear = Linear({.tf32 = true, .dry = true});
    if (has_judge) linear.set_judge([](const auto&, const auto&) { return true; });
    linear.BackwardInput({.shape = {64, 128, 128},
                          .dx = any,
                          .dy = any,
                          .w = any,
                          .pre_gelu = any,
                          .dbias = any.f32()});
    return Computed(*products_, "_dgelu-sums");
  };
  if (computed(DataType::kBfloat16, true).empty()) {
    GTEST_SKIP() << "cuBLASLt has no sums of dx here";
  }
  EXPECT_NE(computed(DataType::kFloat32, false), std::vector<bool>{false});
  EXPECT_EQ(computed(DataType::kBfloat16, false), std::vector<bool>{false});
  EXPECT_EQ(computed(DataType::kBfloat16, true), std::vector<bool>{true});
  EXPECT_EQ(computed(DataType::kFloat16, true), std::vector<bool>{});
}

// cuBLASLt does not fuse GELU into an fp32 product without TF32, so gp must not request it. The
// emulation would accept the request, so the test can see it. A device may also lack the other
// fusions.
TEST_F(LinearProductsTest, Fp32NeverAsksForGeluInsideAProduct) {
  alignas(256) static std::byte nowhere[256];
  const auto fused = [&](DataType type, bool tf32) {
    products_.emplace(workspace_->data());
    const Buffer any{nowhere, type};
    const LinearShape shape{64, 128, 128};
    LinearProducts linear = Linear({.tf32 = tf32, .dry = true});
    linear.Forward({.shape = shape, .y = any, .x = any, .w = any, .bias = any, .gelu = any});
    for (float* dbias : {static_cast<float*>(nullptr), any.f32()}) {
      linear.BackwardInput(
          {.shape = shape, .dx = any, .dy = any, .w = any, .pre_gelu = any, .dbias = dbias});
    }
    return products_->InUse().Encode().find("gelu") != std::string::npos;
  };
  EXPECT_FALSE(fused(DataType::kFloat32, false));
#ifdef GP_CUDA_EMULATION
  EXPECT_TRUE(fused(DataType::kFloat32, true));
  EXPECT_TRUE(fused(DataType::kBfloat16, false));
  EXPECT_TRUE(fused(DataType::kFloat16, false));
#endif
}

TEST_F(LinearProductsTest, Tf32IsOfThreeDigits) {
  ExpectForward({17, 40, 48}, DataType::kFloat32, true, Gelu::kTanh, {.tf32 = true}, 2e-3);
  ExpectBackwardInput({17, 40, 48}, DataType::kFloat32, Gelu::kTanh, {.tf32 = true}, 2e-3);
}

// e4m3 keeps 3 bits after the binary point, e5m2 2 bits. Products of sizes that FP8 does not
// support are computed in bf16.
TEST_F(LinearProductsTest, Fp8IsOfOneDigitAndOnlyWhereItFits) {
  const LinearOptions fp8{.fp8 = true};
  ExpectForward({32, 48, 64}, DataType::kBfloat16, true, Gelu::kTanh, fp8, 6e-2);
  ExpectForward({32, 48, 64}, DataType::kBfloat16, false, std::nullopt, fp8, 6e-2);
  ExpectBackwardInput({32, 48, 64}, DataType::kBfloat16, Gelu::kTanh, fp8, 1e-1);
  ExpectBackwardInput({32, 48, 64}, DataType::kBfloat16, Gelu::kErf, fp8, 1e-1);
  ExpectForward({32, 40, 64}, DataType::kBfloat16, true, Gelu::kTanh, fp8,
                ToleranceOf(DataType::kBfloat16));
}

TEST_F(LinearProductsTest, TooSmallAWorkspaceIsSaid) {
  const DeviceArray dy(NormalValues(64, 1), DataType::kFloat32);
  scratch_.emplace(scratch_memory_->data(), 0);
  try {
    Linear().BackwardWeight({.shape = {8, 8, 8},
                             .dw = dy.f32(),
                             .dbias = dy.f32(),
                             .dy = dy.buffer(),
                             .x = dy.buffer(),
                             .accumulate = true});
    FAIL() << "the scratch memory was enough";
  } catch (const std::length_error& error) {
    EXPECT_NE(std::string(error.what()).find("make it for larger batches"), std::string::npos);
  }
}

}  // namespace
}  // namespace gp::engine

// Goal: math attention equals the CPU's attention, and comparing with it detects kernels that
// compute something else.
#include "worker/engine/backend/cuda/attention/math_attention.h"

#include <gtest/gtest.h>

#include <vector>

#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/backend/cuda/attention/attention_check.h"
#include "worker/engine/backend/cuda/attention/flash_attention.h"
#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/math_attention_fixture.h"

namespace gp::engine {
namespace {

class MathAttentionTest : public MathAttentionFixture {
 protected:
  MathAttentionTest() : MathAttentionFixture(int64_t{1} << 20) {}
};

std::vector<float> HostValues(const DeviceArray& array) {
  std::vector<float> values;
  for (int64_t i = 0; i < array.size(); ++i) values.push_back(array.at(i));
  return values;
}

void ExpectNear(const std::vector<float>& actual, const std::vector<float>& expected,
                double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance) << i;
}

TEST_F(MathAttentionTest, EqualsTheCpus) {
  const auto cpu = MakeCpuBackend({.threads = 1, .sequence = 11, .head_size = 5});
  // A shape with more heads than sequences, and one with fewer.
  for (const AttentionShape& shape : {AttentionShape{2, 11, 3, 5}, AttentionShape{3, 7, 1, 4}}) {
    for (const double probability : {0.0, 0.3}) {
      const int64_t rows = shape.sequences * shape.length;
      const int64_t c = shape.channels();
      const auto scores = static_cast<size_t>(rows * shape.heads * shape.length);
      const Dropout dropout{.probability = probability, .seed = 3, .step = 4, .site = 5};
      const DeviceArray qkv(NormalValues(rows * 3 * c, 1), DataType::kFloat32);
      const DeviceArray dout(NormalValues(rows * c, 2), DataType::kFloat32);
      const DeviceArray out = Unwritten(rows * c, DataType::kFloat32);
      const DeviceArray dqkv = Unwritten(rows * 3 * c, DataType::kFloat32);
      const DeviceArray probabilities = Unwritten(static_cast<int64_t>(scores), DataType::kFloat32);
      const DeviceArray scratch = Unwritten(static_cast<int64_t>(scores), DataType::kFloat32);
      const StoredAttention args{.shape = shape,
                                 .qkv = qkv.buffer(),
                                 .probabilities = probabilities.buffer(),
                                 .scratch = scratch.buffer(),
                                 .dropout = dropout};
      math_->Forward(args, out.buffer());
      math_->Backward(args, dqkv.buffer(), dout.buffer());

      std::vector<float> host_qkv = HostValues(qkv), host_dout = HostValues(dout);
      std::vector<float> host_out(host_dout.size()), host_dqkv(host_qkv.size());
      std::vector<float> host_probabilities(scores), host_scratch(scores);
      const StoredAttention host_args{.shape = shape,
                                      .qkv = Fp32(host_qkv.data()),
                                      .probabilities = Fp32(host_probabilities.data()),
                                      .scratch = Fp32(host_scratch.data()),
                                      .dropout = dropout};
      cpu->Forward(host_args, Fp32(host_out.data()));
      cpu->Backward(host_args, Fp32(host_dqkv.data()), Fp32(host_dout.data()));
      ExpectNear(out.Get(), host_out, 1e-5);
      ExpectNear(dqkv.Get(), host_dqkv, 3e-5);
    }
  }
}

// Kernels whose forward or backward pass is wrong although all sizes are right.
class WrongAttention final : public AttentionKernels {
 public:
  WrongAttention(AttentionKernels& right, bool wrong_forward, bool wrong_backward)
      : right_(right), wrong_forward_(wrong_forward), wrong_backward_(wrong_backward) {}

  const char* name() const override { return "wrong"; }
  bool Takes(const AttentionShape&, DataType, const Dropout&) const override { return true; }
  void Forward(const FlashForward& args, cudaStream_t stream) override {
    right_.Forward(args, stream);
    if (wrong_forward_) Spoil(args.out.data, stream);
  }
  void Backward(const FlashBackward& args, cudaStream_t stream) override {
    right_.Backward(args, stream);
    if (wrong_backward_) Spoil(args.dqkv.data, stream);
  }

 private:
  static void Spoil(void* data, cudaStream_t stream) {
    CheckCuda(cudaMemsetAsync(data, 0xff, 8, stream), "cudaMemsetAsync");
  }

  AttentionKernels& right_;
  const bool wrong_forward_;
  const bool wrong_backward_;
};

TEST_F(MathAttentionTest, IsWhatTheCheckFindsOthersToDifferFrom) {
  FlashAttention flash(9);
  for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
    const AttentionCheck check({3, 9, 2, 16}, type, false, *math_, *stream_);
    EXPECT_EQ(check.DifferenceOf(flash, *scratch_), "");
    WrongAttention wrong_forward(flash, true, false);
    EXPECT_EQ(check.DifferenceOf(wrong_forward, *scratch_),
              "differs from math attention by nan in its result at 3 x 2 x 9 x 16");
    WrongAttention wrong_backward(flash, false, true);
    EXPECT_EQ(check.DifferenceOf(wrong_backward, *scratch_),
              "differs from math attention by nan in its gradient at 3 x 2 x 9 x 16");
  }
}

// A sequence that is too long for math attention is compared up to the length that fits.
TEST_F(MathAttentionTest, ComparesTheBeginningOfLongSequences) {
  FlashAttention flash(9);
  WrongAttention wrong(flash, false, true);
  for (const int64_t score_bytes_max : {1, 2 * 2 * 5 * 5 * 4, 2 * 2 * 9 * 9 * 4}) {
    const AttentionCheck check({3, 9, 2, 16}, DataType::kFloat32, false, *math_, *stream_,
                               score_bytes_max);
    EXPECT_EQ(check.DifferenceOf(flash, *scratch_), "") << score_bytes_max;
    EXPECT_NE(check.DifferenceOf(wrong, *scratch_), "") << score_bytes_max;
  }
}

}  // namespace
}  // namespace gp::engine

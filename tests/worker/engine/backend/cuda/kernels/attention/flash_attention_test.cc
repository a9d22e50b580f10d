// Goal: flash attention equals a plain softmax, forward and backward, on CUDA cores and on tensor
// cores, for lengths around the tile sizes and all head sizes and types, with keyed dropout. Equal
// inputs give equal bits, and a position's bits do not depend on later positions.
#include "worker/engine/backend/cuda/kernels/attention/flash_attention.h"

#include "worker/engine/backend/cuda/device_array.h"
#include "worker/engine/backend/cuda/kernels/attention_reference.h"

namespace gp::engine {
namespace {

class FlashAttentionKernel : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    CheckCuda(cudaDeviceGetAttribute(&major_, cudaDevAttrComputeCapabilityMajor, 0),
              "cudaDeviceGetAttribute");
  }
  int major_ = 0;
};

// The inputs and results of one attention on the device.
class Attention {
 public:
  Attention(const AttentionShape& shape, DataType type, FlashMath math)
      : Attention(shape, type, math,
                  NormalValues(3 * shape.sequences * shape.length * shape.channels(), 1)) {}
  Attention(const AttentionShape& shape, DataType type, FlashMath math,
            const std::vector<float>& qkv)
      : shape_(shape), type_(type), math_(math), qkv_(qkv, type) {}

  void Run(const Dropout& dropout) const {
    LaunchFlashForward({.shape = shape_,
                        .out = out_.buffer(),
                        .lse = lse_.f32(),
                        .qkv = qkv_.buffer(),
                        .dropout = dropout,
                        .math = math_},
                       nullptr);
    LaunchFlashBackward({.shape = shape_,
                         .dqkv = dqkv_.buffer(),
                         .dout = dout_.buffer(),
                         .out = out_.buffer(),
                         .lse = lse_.f32(),
                         .qkv = qkv_.buffer(),
                         .dots = dots_.f32(),
                         .dropout = dropout,
                         .math = math_},
                        nullptr);
  }

  void ExpectEqualsPlain(const KeyedDropout& dropout) const {
    SCOPED_TRACE(testing::Message()
                 << shape_.sequences << " sequences of " << shape_.length << ", " << shape_.heads
                 << " heads of " << shape_.head_size << ", type " << static_cast<int>(type_)
                 << ", dropout " << dropout.dropout().probability);
    Run(dropout.dropout());
    PlainAttention plain(shape_, qkv_, dropout);
    plain.Run(dout_);
    // Probabilities are rounded to the type before they are multiplied with the values.
    const bool is_f32 = type_ == DataType::kFloat32;
    ExpectNear(out_.Get(), plain.out, DeviceTolerance(type_, 2), "out");
    ExpectNear(lse_.Get(), plain.lse, 1e-5, "lse");
    // The rounding errors of `out` over all keys enter the gradients.
    ExpectNear(dqkv_.Get(), plain.dqkv, is_f32 ? 5e-5 : 8 * DeviceTolerance(type_, 1), "dqkv");
  }

  std::vector<float> out() const { return out_.Get(); }
  std::vector<float> dqkv() const { return dqkv_.Get(); }

 private:
  int64_t Rows() const { return shape_.sequences * shape_.length; }
  static void ExpectNear(const std::vector<float>& values, const std::vector<double>& expected,
                         double tolerance, const char* what) {
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], expected[i], tolerance) << what << " at " << i;
    }
  }

  AttentionShape shape_;
  DataType type_;
  FlashMath math_;
  DeviceArray qkv_;
  DeviceArray dout_{NormalValues(Rows() * shape_.channels(), 2), type_};
  DeviceArray out_ = Unwritten(Rows() * shape_.channels(), type_);
  DeviceArray lse_ = Unwritten(Rows() * shape_.heads, DataType::kFloat32);
  DeviceArray dqkv_ = Unwritten(Rows() * 3 * shape_.channels(), type_);
  DeviceArray dots_ = Unwritten(Rows() * shape_.heads, DataType::kFloat32);
};

// Lengths around a tile for one head size of each kind; then dropout; then batches with an odd
// number of heads.
TEST_F(FlashAttentionKernel, EqualsThePlainSoftmaxOnCudaCores) {
  const std::list<KeyedDropout> dropouts = DropoutCases();
  for (const int64_t length : {1, 7, 33, 64, 65, 100}) {
    Attention({1, length, 1, 11}, DataType::kFloat32, FlashMath::kCudaCores)
        .ExpectEqualsPlain(dropouts.front());
  }
  for (const int64_t head_size : {1, 33, 64, 100, 128, 130, 256}) {
    Attention({1, 37, 1, head_size}, DataType::kFloat32, FlashMath::kCudaCores)
        .ExpectEqualsPlain(dropouts.back());
  }
  for (const DataType type : kDataTypes) {
    for (const KeyedDropout& dropout : dropouts) {
      Attention({2, 35, 3, 12}, type, FlashMath::kCudaCores).ExpectEqualsPlain(dropout);
    }
  }
}

TEST_F(FlashAttentionKernel, EqualsThePlainSoftmaxOnTensorCores) {
  if (major_ < 8) GTEST_SKIP() << "tensor cores for bf16 need compute capability 8.0";
  const std::list<KeyedDropout> dropouts = DropoutCases();
  for (const int64_t length : {1, 64, 65, 130}) {
    Attention({1, length, 1, 64}, DataType::kBfloat16, FlashMath::kTensorCores)
        .ExpectEqualsPlain(dropouts.front());
  }
  for (const int64_t head_size : {8, 32, 40, 128}) {
    Attention({1, 70, 1, head_size}, DataType::kFloat16, FlashMath::kTensorCores)
        .ExpectEqualsPlain(dropouts.back());
  }
  for (const DataType type : {DataType::kBfloat16, DataType::kFloat16}) {
    for (const KeyedDropout& dropout : dropouts) {
      Attention({2, 18, 3, 16}, type, FlashMath::kTensorCores).ExpectEqualsPlain(dropout);
    }
  }
}

// Sizes for which the backward pass uses wide accesses: heads that need more than one access per
// thread, and several heads with more queries than a block handles.
TEST_F(FlashAttentionKernel, DotsWideRowsOfSeveralHeads) {
  const std::list<KeyedDropout> dropouts = DropoutCases();
  for (const AttentionShape& shape :
       {AttentionShape{1, 5, 1, 256}, AttentionShape{2, 35, 3, 8}, AttentionShape{1, 33, 2, 72}}) {
    for (const DataType type : kDataTypes) {
      Attention(shape, type, FlashMath::kCudaCores).ExpectEqualsPlain(dropouts.front());
    }
  }
}

// Rows that begin in the middle of a vector are read element by element; the sums are equal up to
// rounding.
TEST_F(FlashAttentionKernel, TakesGradientsOfAnyAlignment) {
  const AttentionShape shape{1, 3, 1, 16};
  const std::vector<float> qkv = NormalValues(3 * 48, 1);
  const std::vector<float> dout = NormalValues(48, 2);
  std::vector<float> moved = dout;
  moved.insert(moved.begin(), 0);
  for (const DataType type : kDataTypes) {
    const DeviceArray qkv_array(qkv, type);
    const DeviceArray out = Unwritten(48, type);
    const DeviceArray lse = Unwritten(3, DataType::kFloat32);
    const DeviceArray dots = Unwritten(3, DataType::kFloat32);
    LaunchFlashForward(
        {.shape = shape, .out = out.buffer(), .lse = lse.f32(), .qkv = qkv_array.buffer()},
        nullptr);
    std::vector<float> results[2];
    for (const bool is_moved : {false, true}) {
      const DeviceArray gradient(is_moved ? moved : dout, type);
      const DeviceArray dqkv = Unwritten(3 * 48, type);
      Buffer from = gradient.buffer();
      if (is_moved) from.data = static_cast<std::byte*>(from.data) + BytesOf(type);
      LaunchFlashBackward({.shape = shape,
                           .dqkv = dqkv.buffer(),
                           .dout = from,
                           .out = out.buffer(),
                           .lse = lse.f32(),
                           .qkv = qkv_array.buffer(),
                           .dots = dots.f32()},
                          nullptr);
      results[is_moved ? 1 : 0] = dqkv.Get();
    }
    for (size_t i = 0; i < results[0].size(); ++i) {
      ASSERT_NEAR(results[1][i], results[0][i], DeviceTolerance(type, 1)) << i;
    }
  }
}

TEST_F(FlashAttentionKernel, HasTheSameBitsEveryTime) {
  for (const FlashMath math : {FlashMath::kCudaCores, FlashMath::kTensorCores}) {
    if (math == FlashMath::kTensorCores && major_ < 8) continue;
    const Attention attention({1, 66, 2, 32}, DataType::kBfloat16, math);
    attention.Run({.probability = 0.2, .seed = 4});
    const std::vector<float> out = attention.out();
    const std::vector<float> dqkv = attention.dqkv();
    attention.Run({.probability = 0.2, .seed = 4});
    EXPECT_EQ(attention.out(), out);
    EXPECT_EQ(attention.dqkv(), dqkv);
  }
}

TEST_F(FlashAttentionKernel, OfAPositionHasTheSameBitsWhateverFollows) {
  for (const FlashMath math : {FlashMath::kCudaCores, FlashMath::kTensorCores}) {
    if (math == FlashMath::kTensorCores && major_ < 8) continue;
    const std::vector<float> qkv = NormalValues(200 * 96, 3);
    const Attention whole({1, 200, 1, 32}, DataType::kBfloat16, math, qkv);
    whole.Run(Dropout{});
    const std::vector<float> out = whole.out();
    for (const int64_t length : {1, 64, 130}) {
      const Attention prefix({1, length, 1, 32}, DataType::kBfloat16, math,
                             {qkv.begin(), qkv.begin() + length * 96});
      prefix.Run(Dropout{});
      const std::vector<float> first = prefix.out();
      EXPECT_TRUE(std::equal(first.begin(), first.end(), out.begin())) << length;
    }
  }
}

TEST_F(FlashAttentionKernel, SaysWhichHeadSizesItTakes) {
  const AttentionShape shape{1, 4, 1, 257};
  EXPECT_THROW(LaunchFlashForward({.shape = shape}, nullptr), std::invalid_argument);
}

TEST(BestFlashMath, IsTensorCoresWhereTheyWork) {
  const auto best = [](int64_t head_size, DataType type, int major) {
    return BestFlashMath({1, 1, 1, head_size}, type, major);
  };
  EXPECT_EQ(best(64, DataType::kBfloat16, 9), FlashMath::kTensorCores);
  EXPECT_EQ(best(128, DataType::kFloat16, 8), FlashMath::kTensorCores);
  EXPECT_EQ(best(64, DataType::kFloat16, 7), FlashMath::kCudaCores);
  EXPECT_EQ(best(64, DataType::kFloat32, 9), FlashMath::kCudaCores);
  EXPECT_EQ(best(12, DataType::kBfloat16, 9), FlashMath::kCudaCores);
  EXPECT_EQ(best(256, DataType::kBfloat16, 9), FlashMath::kCudaCores);
}

}  // namespace
}  // namespace gp::engine

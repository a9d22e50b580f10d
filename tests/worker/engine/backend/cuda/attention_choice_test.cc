// Goal: there is an attention implementation for every type and size, and an impossible request is
// refused with a reason.
#include "worker/engine/backend/cuda/attention_choice.h"

#include <gtest/gtest.h>

#include "worker/engine/backend/cuda/attention/flash_attention.h"
#include "worker/engine/backend/cuda/math_attention_fixture.h"

namespace gp::engine {
namespace {

class AttentionChoiceTest : public MathAttentionFixture {
 protected:
  AttentionChoiceTest() : MathAttentionFixture(int64_t{16} << 20) {}

  AttentionChoice Choose(runspec::Attention attention, bool bf16) {
    CudaBackendOptions options;
    options.shape.heads = 2;
    options.shape.channels = 32;
    options.arena = {.micro_batch = 3, .sequence = 9, .bf16 = bf16, .attention = attention};
    return ChooseAttention(options, QueryDevice(0), *math_, *stream_, *scratch_);
  }
};

TEST_F(AttentionChoiceTest, FlashIsThereForEveryTypeAndSize) {
  const AttentionChoice choice = Choose(runspec::Attention::kFlash, false);
  ASSERT_EQ(choice.kernels.size(), 1u);
  EXPECT_EQ(choice.name, "flash");
  ASSERT_EQ(choice.notes.size(), 1u);
  EXPECT_EQ(choice.notes[0].substr(0, 15), "cudnn attention");
  EXPECT_TRUE(choice.kernels[0]->Takes({7, 5, 3, 21}, DataType::kFloat16, {.probability = 0.5}));
}

TEST_F(AttentionChoiceTest, FlashLeavesTheLargestHeadsOfOldCardsToMathAttention) {
  for (const int64_t head_size : {128, 129, 256}) {
    const AttentionShape shape{1, 4, 1, head_size};
    EXPECT_EQ(FlashAttention(7).Takes(shape, DataType::kFloat16, {}), head_size == 128);
    EXPECT_TRUE(FlashAttention(8).Takes(shape, DataType::kFloat16, {}));
  }
}

TEST_F(AttentionChoiceTest, OurOwnKernelsAreTakenWithoutTryingCudnn) {
  for (const bool bf16 : {false, true}) {
    const AttentionChoice choice = Choose(runspec::Attention::kOwn, bf16);
    ASSERT_EQ(choice.kernels.size(), 1u);
    EXPECT_EQ(choice.name, "flash");
    EXPECT_TRUE(choice.notes.empty()) << choice.notes[0];
  }
}

TEST_F(AttentionChoiceTest, MathAttentionNeedsNoKernels) {
  const AttentionChoice choice = Choose(runspec::Attention::kMath, true);
  EXPECT_TRUE(choice.kernels.empty());
  EXPECT_EQ(choice.name, "");
}

TEST_F(AttentionChoiceTest, CudnnAndNothingElseIsRefusedWithTheReason) {
  try {
    Choose(runspec::Attention::kCudnn, false);
    FAIL() << "fp32 attention came from cuDNN";
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("cudnn attention"), std::string::npos) << message;
    EXPECT_NE(message.find("use engine.attention: flash"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace gp::engine

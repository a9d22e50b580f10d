// Goal: a plan of cuDNN's that was chosen once is chosen again and is what cuDNN is asked for;
// where cuDNN computes nothing, and where it is switched off, nothing is chosen.
#include "worker/engine/backend/cuda/attention_tuning.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace gp::engine {
namespace {

CudaBackendOptions Options() {
  CudaBackendOptions options;
  options.shape.heads = 12;
  options.shape.channels = 768;
  options.arena = {.micro_batch = 64,
                   .sequence = 1024,
                   .bf16 = true,
                   .attention = runspec::Attention::kFlash,
                   .on_gpu = true};
  options.deterministic = false;
  return options;
}

const CudaDevice kHopper{.major = 9};

// "eng8_k3=1" and "eng5".
GemmChoices Known() {
  GemmChoices known("here");
  known.Set("attention-forward_64x12x1024x64_bf16", "656e67385f6b333d31");
  known.Set("attention-backward_64x12x1024x64_bf16", "656e6735");
  known.Set("1x1x1", "00");
  return known;
}

TEST(AttentionTuning, AsksCudnnForThePlansThatWereChosen) {
  CudaBackendOptions options = Options();
  options.gemms = Known();
  const CudnnAttentionOptions cudnn = CudnnOptionsOf(options);
  EXPECT_EQ(cudnn.plans.forward, "eng8_k3=1");
  EXPECT_EQ(cudnn.plans.backward, "eng5");
  EXPECT_EQ(cudnn.shape.head_size, 64);
  options.arena.micro_batch = 32;
  EXPECT_EQ(CudnnOptionsOf(options).plans.forward, "");
}

TEST(AttentionTuning, TakesWhatIsKnownAndOnlyThat) {
  const GemmChoices chosen = TuneAttention(Options(), kHopper, Known());
  EXPECT_TRUE(Known().Covers(chosen));
  EXPECT_NE(chosen.Find("attention-forward_64x12x1024x64_bf16"), nullptr);
  EXPECT_NE(chosen.Find("attention-backward_64x12x1024x64_bf16"), nullptr);
  EXPECT_EQ(chosen.Find("1x1x1"), nullptr);
  EXPECT_EQ(GemmChoices::Parse(chosen.Encode()), chosen);
}

TEST(AttentionTuning, ChoosesNothingWhereCudnnComputesNothing) {
  CudaBackendOptions math = Options();
  math.arena.attention = runspec::Attention::kMath;
  CudaBackendOptions wide = Options();
  wide.arena.bf16 = false;
  CudaBackendOptions odd = Options();
  odd.shape.heads = 256;
  for (const CudaBackendOptions& options : {math, wide, odd}) {
    EXPECT_TRUE(TuneAttention(options, kHopper, Known()).empty());
  }
  EXPECT_TRUE(TuneAttention(Options(), {.major = 7}, Known()).empty());
}

TEST(AttentionTuning, ChoosesNothingWhenItIsSwitchedOff) {
  setenv("GP_ATTENTION_PLANS", "0", 1);
  EXPECT_TRUE(TuneAttention(Options(), kHopper, Known()).empty());
  unsetenv("GP_ATTENTION_PLANS");
}

}  // namespace
}  // namespace gp::engine

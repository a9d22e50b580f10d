// Goal: dynamic loss scaling changes nothing but what overflows, costs no skipped step that counts,
// and goes on exactly from a checkpoint's state. The scale acts on fp32 gradients here, in which a
// power of two is exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "worker/engine/trainer/tiny_run.h"
#include "worker/engine/trainer/training_error.h"

namespace gp::engine {
namespace {

runspec::RunSpec ScaledSpec() {
  runspec::RunSpec spec = TinySpec();
  spec.precision = runspec::Precision::kFp16;
  spec.stability.skip_nonfinite = false;  // one skip that counts would end the run
  return spec;
}

TEST(ScaledTraining, GivesTheBitsOfTrainingWithoutAScale) {
  auto group = MakeLocalGroup(1, 4);
  TinyRank plain(*group[0]);
  auto other = MakeLocalGroup(1, 4);
  TinyRank scaled(*other[0], ScaledSpec());
  const auto expected = plain.Take(6);
  const auto results = scaled.Take(6);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(results[i].loss, expected[i].loss);
    EXPECT_EQ(results[i].gradient_norm, expected[i].gradient_norm);
  }
  EXPECT_EQ(scaled.Parameters(), plain.Parameters());
  EXPECT_EQ(scaled.trainer().loss_scale()->state().finite_steps, 6);
}

TEST(ScaledTraining, AnOverflowIsSkippedWithoutCountingUntilTheScaleFits) {
  auto group = MakeLocalGroup(1, 4);
  TinyRank rank(*group[0], ScaledSpec());
  rank.trainer().loss_scale()->Restore({.scale = 0x1p127, .finite_steps = 0});
  // Gradients of the head's weights that fp32 cannot hold at that scale.
  const runspec::ParameterInfo& gain = rank.model().layout().at("ln_f.weight");
  std::fill_n(rank.model().parameters().begin() + gain.offset, gain.count, 4096.0f);
  const std::vector<float> before = rank.Parameters();
  StepResult result;
  int skipped = 0;
  while ((result = rank.Take(1)[0]).skipped) {
    EXPECT_TRUE(result.overflowed);
    EXPECT_EQ(rank.Parameters(), before);
    ++skipped;
  }
  EXPECT_GT(skipped, 0);
  EXPECT_LT(skipped, 20);
  EXPECT_EQ(rank.trainer().loss_scale()->state().finite_steps, 1);
  EXPECT_NE(rank.Parameters(), before);
}

TEST(ScaledTraining, ALossThatIsNotFiniteIsNobodysScale) {
  auto group = MakeLocalGroup(1, 4);
  TinyRank rank(*group[0], ScaledSpec());
  rank.model().parameters()[0] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(rank.Take(1), TrainingError);
}

TEST(ScaledTraining, RanksKeepOneScale) {
  const std::vector<std::vector<float>> together = TrainTinyGroup(3, 5, ScaledSpec());
  EXPECT_EQ(together[1], together[0]);
  EXPECT_EQ(TrainTinyGroup(1, 5, ScaledSpec())[0], together[0]);
}

}  // namespace
}  // namespace gp::engine

// Goal: the loss scale follows the rule of torch.amp.GradScaler.
#include "worker/engine/step/loss_scale.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

TEST(LossScale, HalvesOnOverflowAndDoublesAfterEnoughFiniteSteps) {
  LossScale scale;
  EXPECT_EQ(scale.value(), 65536);
  EXPECT_TRUE(scale.Observe(false));
  EXPECT_EQ(scale.value(), 32768);
  for (int64_t i = 1; i < LossScale::kGrowthInterval; ++i) EXPECT_FALSE(scale.Observe(true));
  EXPECT_EQ(scale.value(), 32768);
  scale.Observe(true);
  EXPECT_EQ(scale.value(), 65536);
  EXPECT_EQ(scale.state().finite_steps, 0);
}

TEST(LossScale, AnOverflowBeginsTheCountAnew) {
  LossScale scale;
  for (int i = 0; i < 1999; ++i) scale.Observe(true);
  scale.Observe(false);
  scale.Observe(true);
  EXPECT_EQ(scale.state(), (LossScale::State{.scale = 32768, .finite_steps = 1}));
}

TEST(LossScale, IsNotToBlameOnceItIsSmall) {
  LossScale scale;
  int halvings = 0;
  while (scale.Observe(false)) ++halvings;
  EXPECT_EQ(halvings, 16);
  EXPECT_EQ(scale.value(), 1);
  EXPECT_FALSE(scale.Observe(false));
  EXPECT_EQ(scale.value(), 1);
}

TEST(LossScale, StaysAFloat) {
  LossScale scale;
  scale.Restore({.scale = 0x1p127, .finite_steps = LossScale::kGrowthInterval - 1});
  scale.Observe(true);
  EXPECT_EQ(scale.state(), (LossScale::State{.scale = 0x1p127, .finite_steps = 0}));
}

TEST(LossScale, GoesOnFromItsState) {
  LossScale whole, resumed;
  for (int i = 0; i < 1500; ++i) whole.Observe(i != 700);
  resumed.Restore(whole.state());
  for (int i = 0; i < 1500; ++i) EXPECT_EQ(whole.Observe(true), resumed.Observe(true));
  EXPECT_EQ(whole.state(), resumed.state());
}

}  // namespace
}  // namespace gp::engine

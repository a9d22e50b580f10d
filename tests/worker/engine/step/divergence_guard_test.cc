#include "worker/engine/step/divergence_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gp::engine {
namespace {

using runspec::OnDivergence;
using runspec::StabilitySpec;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr StabilitySpec kSixSigma{.spike_sigma = 6};

// Sound steps whose losses alternate between `mean` - 1 and `mean` + 1.
void Alternate(DivergenceGuard& guard, int64_t first_step, int64_t count, double mean) {
  for (int64_t i = 0; i < count; ++i) {
    guard.Observe(first_step + i, StepVerdict::kSound, mean + (i % 2 == 0 ? -1 : 1));
  }
}

TEST(DivergenceGuard, JudgesNoSpikeBeforeItHasSeenEnoughLosses) {
  DivergenceGuard guard(kSixSigma);
  Alternate(guard, 1, DivergenceGuard::kWindow - 1, 3);
  EXPECT_EQ(guard.LossLimit(), kInfinity);
  guard.Observe(DivergenceGuard::kWindow, StepVerdict::kSound, 4);
  // The mean of the alternating losses is 3, their standard deviation 1.
  EXPECT_NEAR(guard.LossLimit(), 3 + 6 * 1, 1e-9);
}

TEST(DivergenceGuard, FollowsTheRecentLosses) {
  DivergenceGuard guard(kSixSigma);
  Alternate(guard, 1, DivergenceGuard::kWindow, 10);
  Alternate(guard, DivergenceGuard::kWindow + 1, 20 * DivergenceGuard::kWindow, 3);
  // The weight of the first losses is e^-20; the last loss moves an exponential mean by 1/64.
  EXPECT_NEAR(guard.LossLimit(), 3 + 6, 0.1);
}

TEST(DivergenceGuard, ALossThatHardlyChangesHasNoSpikes) {
  DivergenceGuard guard(kSixSigma);
  for (int64_t i = 1; i <= DivergenceGuard::kWindow; ++i) {
    guard.Observe(i, StepVerdict::kSound, 2);
  }
  EXPECT_DOUBLE_EQ(guard.LossLimit(), 2 + 6 * DivergenceGuard::kDeviationMin);
}

TEST(DivergenceGuard, WithoutSpikesItFollowsNoLosses) {
  const StabilitySpec spec;
  DivergenceGuard guard(spec);
  Alternate(guard, 1, 2 * DivergenceGuard::kWindow, 3);
  EXPECT_EQ(guard.LossLimit(), kInfinity);
  EXPECT_EQ(guard.state(), DivergenceGuard::State());
}

TEST(DivergenceGuard, ASkippedLossMovesNoLimit) {
  DivergenceGuard guard(kSixSigma);
  Alternate(guard, 1, DivergenceGuard::kWindow, 3);
  const double limit = guard.LossLimit();
  guard.Observe(DivergenceGuard::kWindow + 1, StepVerdict::kSpike, 100);
  guard.Observe(DivergenceGuard::kWindow + 2, StepVerdict::kNotFinite, std::nan(""));
  EXPECT_EQ(guard.LossLimit(), limit);
  EXPECT_EQ(guard.state().skips_in_a_row, 2);
  EXPECT_EQ(guard.state().skipped.Text(), "65-66");
  guard.Observe(DivergenceGuard::kWindow + 3, StepVerdict::kSound, 3);
  EXPECT_EQ(guard.state().skips_in_a_row, 0);
}

TEST(DivergenceGuard, SkipsAsManyInARowAsAreAllowed) {
  const StabilitySpec spec{.consecutive_skips_max = 2};
  DivergenceGuard guard(spec);
  EXPECT_FALSE(guard.Ends(StepVerdict::kSound));
  for (int64_t step = 1; step <= 2; ++step) {
    EXPECT_FALSE(guard.Ends(StepVerdict::kNotFinite)) << step;
    guard.Observe(step, StepVerdict::kNotFinite, kInfinity);
  }
  EXPECT_TRUE(guard.Ends(StepVerdict::kNotFinite));
  EXPECT_TRUE(guard.Ends(StepVerdict::kSpike));
  EXPECT_FALSE(guard.Ends(StepVerdict::kSound));
}

TEST(DivergenceGuard, ThePolicyDecidesWhatIsSkipped) {
  const auto ends = [](StabilitySpec spec, StepVerdict verdict) {
    return DivergenceGuard(spec).Ends(verdict);
  };
  for (const OnDivergence policy : {OnDivergence::kStop, OnDivergence::kRollback}) {
    EXPECT_TRUE(ends({.on_divergence = policy}, StepVerdict::kNotFinite));
    EXPECT_TRUE(ends({.on_divergence = policy}, StepVerdict::kSpike));
    EXPECT_FALSE(ends({.on_divergence = policy}, StepVerdict::kSound));
  }
  EXPECT_TRUE(ends({.skip_nonfinite = false}, StepVerdict::kNotFinite));
  EXPECT_FALSE(ends({.skip_nonfinite = false}, StepVerdict::kSpike));
}

TEST(DivergenceGuard, GoesOnFromItsStateAsIfItHadNotStopped) {
  DivergenceGuard whole(kSixSigma), resumed(kSixSigma);
  Alternate(whole, 1, 100, 3);
  resumed.Restore(whole.state());
  Alternate(whole, 101, 37, 2.9);
  Alternate(resumed, 101, 37, 2.9);
  EXPECT_EQ(resumed.state(), whole.state());
  EXPECT_EQ(resumed.LossLimit(), whole.LossLimit());
}

TEST(DivergenceGuard, SaysHowFarTheLossIsFromTheRecentOnes) {
  DivergenceGuard guard(kSixSigma);
  Alternate(guard, 1, DivergenceGuard::kWindow, 3);
  EXPECT_EQ(guard.Describe(65, StepVerdict::kSpike, 12.5, 1),
            "step 65: the loss 12.5 is 9.5 standard deviations above the mean 3 of the recent "
            "losses (stability.spike_sigma: 6)");
  EXPECT_THAT(guard.Describe(66, StepVerdict::kNotFinite, kInfinity, 2),
              HasSubstr("step 66: the loss or its gradient is not finite (loss inf, gradient norm "
                        "2)"));
}

}  // namespace
}  // namespace gp::engine

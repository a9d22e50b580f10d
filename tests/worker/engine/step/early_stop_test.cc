#include "worker/engine/step/early_stop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "worker/trainer/progress_log.h"

namespace gp::engine {
namespace {

// The number of the evaluation after which the run ends; 0 if it continues.
int64_t StopsAfter(EarlyStop stop, const std::vector<double>& losses) {
  int64_t step = 0;
  for (const double loss : losses) {
    stop.Observe(step += 10, loss);
    if (stop.stopped()) return step;
  }
  return 0;
}

TEST(EarlyStop, EndsAfterSoManyEvaluationsWithoutAnImprovement) {
  const EarlyStop stop({.patience = 2});
  EXPECT_EQ(StopsAfter(stop, {3, 2, 1, 1.5, 0.9, 1, 0.95}), 70);
  EXPECT_EQ(StopsAfter(stop, {3, 3, 3}), 30);
  EXPECT_EQ(StopsAfter(stop, {3, 2.9, 2.8, 2.7}), 0);
}

TEST(EarlyStop, ASmallGainIsNone) {
  const EarlyStop stop({.patience = 2, .min_delta = 0.1});
  EXPECT_EQ(StopsAfter(stop, {3, 2.95, 2.91}), 30);
  EXPECT_EQ(StopsAfter(stop, {3, 2.95, 2.85, 2.8, 2.7}), 0);
}

TEST(EarlyStop, ALossThatIsNotANumberIsNoImprovement) {
  EXPECT_EQ(StopsAfter(EarlyStop({.patience = 2}), {std::nan(""), std::nan("")}), 20);
}

TEST(EarlyStop, IsOffUnlessAskedFor) { EXPECT_EQ(StopsAfter(EarlyStop({}), {1, 2, 3, 4, 5}), 0); }

TEST(EarlyStop, DecidesTheSameWhenItIsRestoredInBetween) {
  const std::vector<double> losses = {3, 2, 2.5, 1.9, 2, 2.1, 1};
  EarlyStop whole({.patience = 2});
  for (size_t cut = 0; cut < losses.size(); ++cut) {
    EarlyStop resumed({.patience = 2});
    resumed.Restore(whole.state());
    EarlyStop on = whole;
    for (size_t i = cut; i < losses.size(); ++i) {
      const auto step = static_cast<int64_t>(i + 1);
      EXPECT_EQ(on.Observe(step, losses[i]), resumed.Observe(step, losses[i]));
      EXPECT_EQ(on.stopped(), resumed.stopped());
    }
    whole.Observe(static_cast<int64_t>(cut + 1), losses[cut]);
  }
}

TEST(EarlyStop, SaysWhatItWaitedFor) {
  EarlyStop stop({.patience = 1, .min_delta = 0.05});
  stop.Observe(100, 1.25);
  stop.Observe(200, 1.24);
  EXPECT_EQ(stop.Reason(),
            "stopped early: 1 evaluation in a row did not improve the validation loss 1.2500 of "
            "step 100 by more than 0.05");
}

TEST(FirstLoss, IsNearTheLogarithmOfTheVocabulary) {
  EXPECT_FALSE(FirstLossWarning(std::log(65.0) + 0.49, 65));
  EXPECT_FALSE(FirstLossWarning(std::log(65.0) - 0.49, 65));
  EXPECT_TRUE(FirstLossWarning(std::log(65.0) + 0.51, 65));
  const auto low = FirstLossWarning(1.0, 65);
  ASSERT_TRUE(low);
  EXPECT_NE(low->find("1.0000 is far from ln(65) = 4.1744"), std::string::npos) << *low;
}

}  // namespace
}  // namespace gp::engine

// Goal: users are told at once if a fresh model does not start with the expected loss.
#include "worker/trainer/progress_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace gp::engine {
namespace {

TEST(FirstLossWarning, IsSilentNearTheLogarithmOfTheVocabulary) {
  EXPECT_EQ(FirstLossWarning(std::log(512.0), 512), std::nullopt);
  EXPECT_EQ(FirstLossWarning(std::log(512.0) + 0.4, 512), std::nullopt);
}

TEST(FirstLossWarning, NamesTheLossAndWhatItShouldBe) {
  const auto warning = FirstLossWarning(12.5, 512);
  ASSERT_TRUE(warning.has_value());
  EXPECT_THAT(*warning, testing::HasSubstr("the first loss 12.5000 is far from ln(512) = 6.2383"));
}

}  // namespace
}  // namespace gp::engine

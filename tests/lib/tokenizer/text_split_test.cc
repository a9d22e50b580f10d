#include "tokenizer/text_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(TextSplit, IsNanoGptsSplit) {
  const auto split = SplitText(1003854, 0.1);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->train_tokens, 903468);
  EXPECT_EQ(split->validation_tokens, 100386);
}

TEST(TextSplit, WithoutAFractionEverythingTrains) {
  const auto split = SplitText(2, 0);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->train_tokens, 2);
  EXPECT_EQ(split->validation_tokens, 0);
}

TEST(TextSplit, APartThatIsTooShortIsRefused) {
  EXPECT_EQ(SplitText(1, 0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(SplitText(10, 0.1).status()), testing::HasSubstr("10 tokens are too few"));
}

}  // namespace
}  // namespace gp

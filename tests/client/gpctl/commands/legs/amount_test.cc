// Goal: a budget is a whole number, or one with a plus sign, and nothing else.
#include "client/gpctl/commands/legs/amount.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

TEST(ParseAmount, IsTheTotalOrWhatIsAdded) {
  const auto total = ParseAmount("--steps", "500");
  ASSERT_TRUE(total.ok());
  EXPECT_EQ(total->value, 500);
  EXPECT_FALSE(total->more);
  const auto more = ParseAmount("--steps", "+200");
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->value, 200);
  EXPECT_TRUE(more->more);
}

TEST(ParseAmount, NamesTheFlagOfWhatIsNoAmount) {
  for (const char* text : {"", "0", "-5", "+", "++5", "5x", "1e3", " 5", "99999999999999999999"}) {
    const auto refused = ParseAmount("--tokens", text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(Message(refused.status()).starts_with("--tokens ")) << refused.status();
  }
}

TEST(ParseAmount, ANumberThatNoRunFileMayHaveIsTooLarge) {
  for (const char* text : {"9223372036854775807", "+9223372036854775807", "99999999999999999999"}) {
    for (const char* flag : {"--steps", "--tokens"}) {
      const auto refused = ParseAmount(flag, text);
      ASSERT_FALSE(refused.ok()) << text;
      EXPECT_NE(Message(refused.status()).find("too large; expected at most 1000000"),
                std::string::npos)
          << refused.status();
    }
  }
  EXPECT_TRUE(ParseAmount("--steps", "1000000000").ok());
  EXPECT_TRUE(ParseAmount("--tokens", "+1000000000000000").ok());
}

}  // namespace
}  // namespace gp::gpctl

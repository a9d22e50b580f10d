#include "base/duration.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ParsesWhatPeopleWrite) {
  EXPECT_EQ(ParseDuration("250ms").value(), 250ms);
  EXPECT_EQ(ParseDuration("1.5s").value(), 1500ms);
  EXPECT_EQ(ParseDuration("1h30m").value(), 90min);
  EXPECT_EQ(ParseDuration("2d").value(), 48h);
}

TEST(Duration, RefusesTheRestAndSaysHowToWriteIt) {
  for (const char* text : {"", "5", "m", "-5s", "5 s", "5parsecs", "1e400s", "nans"}) {
    const auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(Message(parsed.status()).find("90s"), std::string::npos) << text;
  }
}

TEST(Duration, PrintsAtMostTwoUnits) {
  EXPECT_EQ(FormatDuration(412ms), "412ms");
  EXPECT_EQ(FormatDuration(9400ms), "9.4s");
  EXPECT_EQ(FormatDuration(192s), "3m12s");
  EXPECT_EQ(FormatDuration(63min), "1h03m");
  EXPECT_EQ(FormatDuration(52h), "2d04h");
}

}  // namespace
}  // namespace gp

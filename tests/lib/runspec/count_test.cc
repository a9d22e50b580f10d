#include "runspec/count.h"

#include <gtest/gtest.h>

namespace gp::runspec {
namespace {

TEST(Count, ReadsWhatPeopleWrite) {
  EXPECT_EQ(ParseCount("0"), 0);
  EXPECT_EQ(ParseCount("-3"), -3);
  EXPECT_EQ(ParseCount("50_000"), 50000);
  EXPECT_EQ(ParseCount("0.5M"), 500000);
  EXPECT_EQ(ParseCount("0.3M"), 300000);
  EXPECT_EQ(ParseCount("10B"), 10'000'000'000);
  EXPECT_EQ(ParseCount("375k"), 375000);
  EXPECT_EQ(ParseCount("4K"), 4000);
  EXPECT_EQ(ParseCount("7G"), 7'000'000'000);
  EXPECT_EQ(ParseCount("1.5T"), 1'500'000'000'000);
  EXPECT_EQ(ParseCount("2^19"), 524288);
  EXPECT_EQ(ParseCount("1e6"), 1000000);
  EXPECT_EQ(ParseCount("9223372036854775807"), INT64_MAX);
}

TEST(Count, RefusesWhatIsNoWholeNumberOrDoesNotFit) {
  for (const char* text :
       {"", "M", "1.5", "ten", "2^64", "2^-1", "^3", "1e30", "9223372036854775808", "3 ", "0x10",
        "nan", "inf", "1.2.3", "99999999T"}) {
    EXPECT_EQ(ParseCount(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace gp::runspec

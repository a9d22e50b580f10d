#include "client/gpctl/terminal/line_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

namespace gp::gpctl {
namespace {

constexpr std::chrono::seconds kLongest{60};

TEST(LineReader, GivesTheLinesAndThenTheEnd) {
  std::istringstream in("one\n\nlast without an end");
  LineReader reader(in);
  EXPECT_EQ(reader.Next(kLongest), "one");
  EXPECT_EQ(reader.Next(kLongest), "");
  EXPECT_EQ(reader.Next(kLongest), "last without an end");
  EXPECT_EQ(reader.Next(kLongest), std::nullopt);
  EXPECT_TRUE(reader.AtEnd());
}

// More lines than are read ahead.
TEST(LineReader, LosesNoLineOfALongInput) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
  std::istringstream in(text);
  LineReader reader(in);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(reader.Next(kLongest), std::to_string(i));
  EXPECT_EQ(reader.Next(kLongest), std::nullopt);
}

}  // namespace
}  // namespace gp::gpctl

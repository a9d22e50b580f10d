#include "corpus/synthetic_text.h"

#include <gtest/gtest.h>

namespace gp::corpus {
namespace {

TEST(SyntheticText, IsAFunctionOfItsSeed) {
  SyntheticText one(7), same(7), other(8);
  for (int i = 0; i < 20; ++i) {
    const std::string text = one.NextDocument();
    EXPECT_EQ(text, same.NextDocument());
    EXPECT_NE(text, other.NextDocument());
    EXPECT_GT(text.size(), 50u);
    EXPECT_EQ(text.find("\n\n"), std::string::npos);
    for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  }
}

}  // namespace
}  // namespace gp::corpus

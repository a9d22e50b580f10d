// The expected texts are the output of lm-evaluation-harness' code in Python 3.11.
#include "tasks/harness_text.h"

#include <gtest/gtest.h>

namespace gp::tasks {
namespace {

TEST(HarnessText, CleansAsThePublishedPreprocess) {
  EXPECT_EQ(HarnessText("  a b \n"), "a b");
  EXPECT_EQ(HarnessText("Removing ice from car: [header] How to [title] Begin.  [step] Now."),
            "Removing ice from car: How to. Begin.  Now.");
  EXPECT_EQ(HarnessText("a [b [c] d] e"), "a d] e") << "the first closing bracket ends it";
  EXPECT_EQ(HarnessText("a [b\nc] d"), "a [b\nc] d") << "a dot does not match a line's end";
  EXPECT_EQ(HarnessText("a [b"), "a [b");
  EXPECT_EQ(HarnessText("[a]"), "");
  EXPECT_EQ(HarnessText("x [y]"), "x ") << "white space is taken off before the brackets";
  EXPECT_EQ(HarnessText("a    b"), "a  b") << "pairs of spaces become one, once";
  EXPECT_EQ(HarnessText("\u00a0\u2003a\x1f"), "a");
  EXPECT_EQ(HarnessText(""), "");
}

TEST(HarnessText, ManyOpenBracketsTakeLinearTime) {
  EXPECT_EQ(HarnessText(std::string(1 << 20, '[')), std::string(1 << 20, '['));
}

TEST(HarnessText, CapitalizesAsPython) {
  EXPECT_EQ(Capitalized("he PULLS up."), "He pulls up.");
  EXPECT_EQ(Capitalized("\u00e9TUDE \u00c4\u00d6"), "\u00c9tude \u00e4\u00f6");
  EXPECT_EQ(Capitalized(" A"), " a");
  EXPECT_EQ(Capitalized(""), "");
}

TEST(HarnessText, CountsCodePoints) {
  EXPECT_EQ(CodePointCount("a\u00e9\u20ac\U0001f600"), 4);
  EXPECT_EQ(TrimmedSize("ab \u00a0"), 2u);
  EXPECT_EQ(TrimmedSize(" \n"), 0u);
}

}  // namespace
}  // namespace gp::tasks

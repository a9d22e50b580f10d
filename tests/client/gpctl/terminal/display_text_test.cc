#include "client/gpctl/terminal/display_text.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

TEST(DisplayText, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("é█…"), 3);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("日本"), 4);
  EXPECT_EQ(DisplayWidth("\xff\xc3"), 2);
  EXPECT_EQ(DisplayWidth("a\uFEFFb\u200Bc"), 3) << "marks without a width";
}

TEST(DisplayText, CutsWholeCharacters) {
  EXPECT_EQ(CutToWidth("abcdef", 4, true), "abc…");
  EXPECT_EQ(CutToWidth("abcdef", 4, false), "abc~");
  EXPECT_EQ(CutToWidth("日本語", 4, true), "日…");
  EXPECT_EQ(CutToWidth("abc", 3, true), "abc");
  EXPECT_EQ(CutToWidth("abc", 0, true), "");
}

TEST(DisplayText, MakesHostileTextHarmless) {
  EXPECT_EQ(OneSafeLine("a\x1b[31mb\r\nc\xff\t.", true), "a·[31mb·⏎c· .");
  EXPECT_EQ(OneSafeLine("é\n", false), ". ");
  EXPECT_EQ(SafeText("a\n\tb\x07", true), "a\n\tb·");
  EXPECT_EQ(OneSafeLine("\u202Eabc", true), "·abc");
}

TEST(CutMiddleToWidth, KeepsBothEnds) {
  EXPECT_EQ(CutMiddleToWidth("fine-tune-lr-3e-4", 17, true), "fine-tune-lr-3e-4");
  EXPECT_EQ(CutMiddleToWidth("fine-tune-lr-3e-4", 10, true), "fine-…3e-4");
  EXPECT_EQ(CutMiddleToWidth("fine-tune-lr-3e-4", 10, false), "fine-~3e-4");
  for (int columns = 0; columns < 20; ++columns) {
    EXPECT_LE(DisplayWidth(CutMiddleToWidth("日本語の名前です", columns, true)), columns);
  }
}

TEST(Wrapped, BreaksAtSpacesAndIndents) {
  EXPECT_EQ(Wrapped("one two three", 0, 2), "one two three");
  EXPECT_EQ(Wrapped("one two three", 13, 2), "one two three");
  EXPECT_EQ(Wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(Wrapped("one two three four", 7, 2), "one two\n  three\n  four");
  EXPECT_EQ(Wrapped("/a/long/path is here", 8, 2), "/a/long/\n  path\n  is\n  here");
}

TEST(WrappedBelowText, ContinuesBelowTheLastColumn) {
  EXPECT_EQ(WrappedBelowText("title\n  a  one two three\n\n  bb one two\n", 14),
            "title\n  a  one two\n     three\n\n  bb one two\n");
  EXPECT_EQ(WrappedBelowText("a sentence of words", 10), "a sentence\nof words");
  EXPECT_EQ(WrappedBelowText("      only a text", 12), "      only a\n      text")
      << "blanks at the beginning are a column, too";
  EXPECT_EQ(WrappedBelowText("a  b  c", 0), "a  b  c");
}

}  // namespace
}  // namespace gp::gpctl

// The pure text functions behind the screens.
#include <gtest/gtest.h>

#include <cmath>

#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/fitted_line.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/sparkline.h"
#include "client/gpctl/terminal/table.h"

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

TEST(NumberText, ReadsWell) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(7362), "7,362");
  EXPECT_EQ(WithThousands(-1234567), "-1,234,567");
  EXPECT_EQ(WithThousands(INT64_MIN), "-9,223,372,036,854,775,808");
  EXPECT_EQ(CompactCount(950), "950");
  EXPECT_EQ(CompactCount(48231), "48.2k");
  EXPECT_EQ(CompactCount(999999), "1.00M");
  EXPECT_EQ(CompactCount(3.86e9), "3.86B");
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(Bytes((1 << 20) - 1), "1.0 MiB") << "not 1024.0 KiB";
  EXPECT_EQ(DurationText(0.2), "0s");
  EXPECT_EQ(DurationText(59.7), "1m00s");
  EXPECT_EQ(DurationText(3780), "1h03m");
  EXPECT_EQ(DurationText(-1), "-");
  EXPECT_EQ(DurationText(NAN), "-");
  EXPECT_EQ(DateTimeText(1763716440), "2025-11-21T09:14:00Z");
}

TEST(Sparkline, ScalesFromSmallestToLargest) {
  EXPECT_EQ(Sparkline({1, 2, 3, 4, 5, 6, 7}, 10, true), "▁▂▃▄▅▆▇");
  EXPECT_EQ(Sparkline({3, 2, 1}, 10, false), "#=_");
  EXPECT_EQ(Sparkline({5, 5, 5}, 10, true), "▁▁▁");
  EXPECT_EQ(Sparkline({}, 10, true), "");
}

TEST(Sparkline, SqueezesAndKeepsTheNewestValue) {
  std::vector<double> values(1000, 1.0);
  values.back() = 2.0;
  EXPECT_EQ(Sparkline(values, 4, true), "▁▁▁▇");
  EXPECT_EQ(Sparkline({1, 1, 1, 1, 1, 1, 1, 1, 1, 2}, 4, true), "▁▁▁▇") << "in its own cell alone";
}

TEST(Sparkline, ShowsValuesThatAreNotFinite) {
  EXPECT_EQ(Sparkline({1, NAN, 2}, 10, true), "▁x▇");
  EXPECT_EQ(Sparkline({NAN, INFINITY}, 10, true), "xx");
}

TEST(ProgressBar, FillsInEighths) {
  EXPECT_EQ(ProgressBar(0, 6, true), "[    ]");
  EXPECT_EQ(ProgressBar(0.5, 6, true), "[██  ]");
  EXPECT_EQ(ProgressBar(0.53125, 6, true), "[██▏ ]");
  EXPECT_EQ(ProgressBar(1, 6, true), "[████]");
  EXPECT_EQ(ProgressBar(7, 6, false), "[####]");
  EXPECT_EQ(ProgressBar(NAN, 6, false), "[    ]");
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

TEST(FittedLine, LeavesOutTheHighestRankFirst) {
  const std::vector<LinePart> parts = {{"aa"}, {"bb", 1}, {""}, {"cc", 2}, {"dd"}};
  EXPECT_EQ(FittedLine(parts, " | ", 0), "aa | bb | cc | dd");
  EXPECT_EQ(FittedLine(parts, " | ", 16), "aa | bb | dd");
  EXPECT_EQ(FittedLine(parts, " | ", 11), "aa | dd");
  EXPECT_EQ(FittedLine(parts, " | ", 3), "aa | dd") << "rank 0 stays";
}

TEST(Table, ShortensNamesAndThenLeavesOutColumns) {
  Table table({{.title = "NAME", .shorten = true},
               {.title = "N", .align = Align::kRight},
               {.title = "A", .rank = 1},
               {.title = "B", .rank = 2},
               {.title = "WHY"}});
  table.AddRow({"a-name-that-is-rather-long", "5", "aaaa", "bbbb", ""});
  EXPECT_EQ(table.Render(44, true),
            "NAME                      N  A     B     WHY\n"
            "a-name-that-…rather-long  5  aaaa  bbbb\n");
  EXPECT_EQ(table.Render(31, true),
            "NAME               N  A     WHY\n"
            "a-name-t…her-long  5  aaaa\n");
  EXPECT_EQ(table.Render(20, true),
            "NAME              N\n"
            "a-name-t…er-long  5\n");
}

TEST(Table, LinesUpAndCutsTheLastColumn) {
  Table table({{"NAME"}, {"N", Align::kRight}, {"WHY"}});
  table.AddRow({"é", "5", "because"});
  table.AddRow({"long-name", "1234", ""});
  EXPECT_EQ(table.Render(0, true),
            "NAME          N  WHY\n"
            "é             5  because\n"
            "long-name  1234\n");
  EXPECT_EQ(table.Render(20, true),
            "NAME          N  WHY\n"
            "é             5  be…\n"
            "long-name  1234\n");
}

}  // namespace
}  // namespace gp::gpctl

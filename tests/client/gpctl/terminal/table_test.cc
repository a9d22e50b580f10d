#include "client/gpctl/terminal/table.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

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

TEST(Table, ShortenedColumnsShareTheRoom) {
  Table table({{.title = "", .shorten = true},
               {.title = "one", .align = Align::kRight, .shorten = true},
               {.title = "other", .align = Align::kRight, .shorten = true}});
  const std::string wide(40, 'x');
  table.AddRow({"key", wide, wide});
  table.AddRow({"loss", "3.1", "3.2 (+0.1)"});
  EXPECT_EQ(table.Render(48, true),
            "                       one                 other\n"
            "key   xxxxxxxxxx…xxxxxxxxx  xxxxxxxxxx…xxxxxxxxx\n"
            "loss                   3.1            3.2 (+0.1)\n");
  EXPECT_TRUE(table.Fits(40));
  EXPECT_FALSE(table.Fits(39));
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

#include "worker/agent/line_splitter.h"

#include <gtest/gtest.h>

namespace gp::agent {
namespace {

using Lines = std::vector<std::string>;

TEST(LineSplitter, JoinsPiecesAndDropsEnds) {
  LineSplitter splitter(100);
  EXPECT_EQ(splitter.Add("step="), Lines{});
  EXPECT_EQ(splitter.Add("1\r\n\nstep=2\nst"), (Lines{"step=1", "", "step=2"}));
  EXPECT_EQ(splitter.Flush(), Lines{"st"});
  EXPECT_EQ(splitter.Flush(), Lines{});
}

TEST(LineSplitter, CutsLongLinesAndCountsTheLoss) {
  LineSplitter splitter(4);
  EXPECT_EQ(splitter.Add("abcdef"), Lines{});
  EXPECT_EQ(splitter.Add("gh\nxy\n"), (Lines{"abcd … (4 bytes cut)", "xy"}));
}

TEST(LineSplitter, ReplacesWhatIsNotUtf8) {
  LineSplitter splitter(100);
  EXPECT_EQ(splitter.Add("gr\xc3\xbc\xc3\x9f\n"), Lines{"gr\xc3\xbc\xc3\x9f"});
  EXPECT_EQ(splitter.Add("a\xff\x62\xc3\n"), Lines{"a?b?"});
  EXPECT_EQ(splitter.Add("\xed\xa0\x80\n"), Lines{"???"});  // a surrogate
}

TEST(LineSplitter, ACutInsideACharacterStaysValid) {
  LineSplitter splitter(3);
  EXPECT_EQ(splitter.Add("ab\xc3\xbc\n"), Lines{"ab? … (1 bytes cut)"});
}

}  // namespace
}  // namespace gp::agent

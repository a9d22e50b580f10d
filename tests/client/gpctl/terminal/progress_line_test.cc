#include "client/gpctl/terminal/progress_line.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/fakes/fake_clock.h"

namespace gp::gpctl {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class ProgressLineTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  client::Interruption interruption_;
  Console console_{
      .in = in_, .out = out_, .err = err_, .interruption = interruption_, .clock = clock_};
};

TEST_F(ProgressLineTest, IsRedrawnFourTimesASecondAndRemovedOnATerminal) {
  console_.out_is_terminal = true;
  console_.size.columns = 10;
  ProgressLine progress(console_);
  progress.Tell("one");
  clock_.Advance(249ms);
  progress.Tell("too early");
  EXPECT_EQ(out_.str(), "one\n");
  clock_.Advance(1ms);
  progress.Tell("wider than ten");
  EXPECT_EQ(out_.str(), "one\n\x1b[1F\x1b[Jwider tha~\n");
  progress.Clear();
  EXPECT_EQ(out_.str(), "one\n\x1b[1F\x1b[Jwider tha~\n\x1b[1F\x1b[J");
  EXPECT_EQ(err_.str(), "");
  EXPECT_DOUBLE_EQ(progress.Seconds(), 0.25);
}

TEST_F(ProgressLineTest, IsAMessageEveryTenSecondsElsewhere) {
  ProgressLine progress(console_);
  for (int second = 1; second <= 25; ++second) {
    clock_.Advance(1s);
    progress.Tell("line " + std::to_string(second));
  }
  progress.Clear();
  EXPECT_EQ(err_.str(), "line 10\nline 20\n");
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace gp::gpctl

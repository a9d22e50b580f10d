// Without a terminal of the process; gpctl.Screens has a real one.
#include "client/gpctl/terminal/live_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class LiveScreenTest : public ::testing::Test {
 protected:
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  client::Interruption interruption_;
  Console console_{.in = in_,
                   .out = out_,
                   .err = err_,
                   .interruption = interruption_,
                   .clock = SystemClock(),
                   .environment = {{"LANG", "C.UTF-8"}, {"TERM", "xterm"}},
                   .out_is_terminal = true,
                   .size = {.columns = 5, .rows = 2}};
};

TEST_F(LiveScreenTest, CutsLinesToTheTerminal) {
  {
    LiveScreen screen(console_);
    screen.Draw({ScreenLine("too long"), ScreenLine("b", Color::kRed), ScreenLine("below")});
  }
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("too …"), HasSubstr("\x1b[31mb\x1b[0m"),
                                Not(HasSubstr("below")), EndsWith("\x1b[?1049l")));
}

TEST_F(LiveScreenTest, EndsItsWaitWhenItIsWoken) {
  LiveScreen screen(console_);
  screen.Wake();
  EXPECT_TRUE(screen.WaitForKeys(std::chrono::minutes(1)).empty());
}

TEST_F(LiveScreenTest, IsForTerminalsWithEscapeSequences) {
  EXPECT_TRUE(LiveScreen::IsAvailable(console_));
  console_.environment["TERM"] = "dumb";
  EXPECT_FALSE(LiveScreen::IsAvailable(console_));
  console_.environment["TERM"] = "xterm";
  console_.out_is_terminal = false;
  EXPECT_FALSE(LiveScreen::IsAvailable(console_));
}

}  // namespace
}  // namespace gp::gpctl

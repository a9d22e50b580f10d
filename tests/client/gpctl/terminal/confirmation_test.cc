#include "client/gpctl/terminal/confirmation.h"

#include <gtest/gtest.h>

#include <sstream>

namespace gp::gpctl {
namespace {

bool Answered(const std::string& typed, bool terminal) {
  std::istringstream in(typed);
  std::ostringstream out, err;
  client::Interruption interruption;
  Console console{.in = in,
                  .out = out,
                  .err = err,
                  .interruption = interruption,
                  .clock = SystemClock(),
                  .in_is_terminal = terminal};
  return Confirmed("Delete it?", console);
}

TEST(Confirmation, OnlyAYesIsOne) {
  EXPECT_TRUE(Answered("y\n", true));
  EXPECT_TRUE(Answered("yes\n", true));
  for (const char* no : {"", "\n", "n\n", "Y es\n", "sure\n"}) EXPECT_FALSE(Answered(no, true));
}

TEST(Confirmation, WithoutATerminalNobodyIsAsked) { EXPECT_FALSE(Answered("y\n", false)); }

}  // namespace
}  // namespace gp::gpctl

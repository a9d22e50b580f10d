#include "client/gpctl/terminal/confirmation.h"

#include <gtest/gtest.h>

#include <future>
#include <sstream>
#include <streambuf>

#include "client/gpctl/test_console.h"

namespace gp::gpctl {
namespace {

bool Answered(const std::string& typed, bool terminal) {
  testing::TestConsole test;
  test.in.str(typed);
  test.console.in_is_terminal = terminal;
  return Confirmed("Delete it?", test.console).value();
}

TEST(Confirmation, OnlyAYesIsOne) {
  EXPECT_TRUE(Answered("y\n", true));
  EXPECT_TRUE(Answered("yes\n", true));
  for (const char* no : {"", "\n", "n\n", "Y es\n", "sure\n"}) EXPECT_FALSE(Answered(no, true));
}

// A terminal on which nothing is typed.
class SilentInput : public std::streambuf {
 protected:
  int_type underflow() override {
    std::promise<void>().get_future().wait();
    return traits_type::eof();
  }
};

TEST(Confirmation, CtrlCEndsTheQuestion) {
  // The thread that reads it never returns, so neither is destroyed.
  static SilentInput& silence = *new SilentInput;
  static std::istream& in = *new std::istream(&silence);
  std::ostringstream out, err;
  client::Interruption interruption;
  interruption.Request();
  const Console console{.in = in,
                        .out = out,
                        .err = err,
                        .interruption = interruption,
                        .clock = SystemClock(),
                        .in_is_terminal = true};
  EXPECT_EQ(Confirmed("Delete it?", console).status().code(), StatusCode::kCancelled);
}

TEST(Confirmation, WithoutATerminalNobodyIsAsked) { EXPECT_FALSE(Answered("y\n", false)); }

}  // namespace
}  // namespace gp::gpctl

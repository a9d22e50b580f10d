#include "client/gpctl/terminal/terminal_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

namespace gp::gpctl {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

// A pseudo-terminal; skips the test where none can be opened.
class TerminalModeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (openpty(&other_end_, &terminal_, nullptr, nullptr, nullptr) != 0) {
      GTEST_SKIP() << "no pseudo-terminal can be opened here";
    }
  }
  void TearDown() override {
    if (terminal_ < 0) return;
    close(terminal_);
    close(other_end_);
  }

  tcflag_t Modes() const {
    termios modes{};
    tcgetattr(terminal_, &modes);
    return modes.c_lflag;
  }

  std::string Received() const {
    std::string bytes(4096, '\0');
    const ssize_t size = read(other_end_, bytes.data(), bytes.size());
    bytes.resize(size > 0 ? static_cast<size_t>(size) : 0);
    return bytes;
  }

  int terminal_ = -1;
  int other_end_ = -1;
  std::ostringstream out_;
};

TEST_F(TerminalModeTest, LeavesTheTerminalAsItWas) {
  const tcflag_t before = Modes();
  {
    TerminalMode mode(out_, terminal_, terminal_);
    mode.Enter();
    EXPECT_EQ(Modes() & (ICANON | ECHO), 0u);
    EXPECT_NE(Modes() & ISIG, 0u) << "Ctrl-C still sends a signal";
    mode.Enter();  // as after a stop
    mode.Leave();
    EXPECT_EQ(Modes(), before);
    mode.Enter();
  }
  EXPECT_EQ(Modes(), before);
  EXPECT_THAT(out_.str(), StartsWith("\x1b[?1049h"));
  EXPECT_THAT(out_.str(), EndsWith("\x1b[?7h\x1b[?25h\x1b[?1049l"));
}

TEST_F(TerminalModeTest, IsRestoredWhenASignalKillsTheProcess) {
  const tcflag_t before = Modes();
  const pid_t child = fork();
  if (child == 0) {
    TerminalMode mode(out_, terminal_, terminal_);
    mode.Enter();
    std::raise(SIGABRT);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << "the default action follows";
  EXPECT_EQ(Modes(), before);
  EXPECT_THAT(Received(), EndsWith("\x1b[?1049l"));
}

TEST_F(TerminalModeTest, RestoreTerminalDoesNothingWithoutAScreen) {
  const tcflag_t before = Modes();
  RestoreTerminal();
  EXPECT_EQ(Modes(), before);
}

}  // namespace
}  // namespace gp::gpctl

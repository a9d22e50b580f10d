#include "client/gpctl/terminal/terminal_mode.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string_view>

namespace gp::gpctl {
namespace {

// DEC private modes, which every terminal emulator has: 1049 the alternate screen, 25 the cursor, 7
// automatic line breaks.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[0m\x1b[H\x1b[J\x1b[?7h\x1b[?25h\x1b[?1049l";

constexpr std::array kFatalSignals = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV};

// What RestoreTerminal needs. Written before `entered` is set.
struct Entered {
  std::atomic<bool> entered = false;
  int screen = -1;
  int keys = -1;
  termios modes{};
  std::array<struct sigaction, kFatalSignals.size()> actions{};
};
Entered entered_terminal;

void SetModes(int descriptor, int when, const termios& modes) {
  if (descriptor >= 0) tcsetattr(descriptor, when, &modes);
}

// The default action of the signal follows, once the terminal is as it was.
void OnFatalSignal(int signal) {
  RestoreTerminal();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void CatchFatalSignals() {
  struct sigaction action {};
  action.sa_handler = &OnFatalSignal;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kFatalSignals.size(); ++i) {
    sigaction(kFatalSignals[i], &action, &entered_terminal.actions[i]);
  }
}

void ReleaseFatalSignals() {
  for (size_t i = 0; i < kFatalSignals.size(); ++i) {
    sigaction(kFatalSignals[i], &entered_terminal.actions[i], nullptr);
  }
}

}  // namespace

void TerminalMode::Enter() {
  if (!entered_) {
    entered_ = true;
    entered_terminal.screen = screen_;
    entered_terminal.keys =
        keys_ >= 0 && tcgetattr(keys_, &entered_terminal.modes) == 0 ? keys_ : -1;
    entered_terminal.entered = true;
    CatchFatalSignals();
  }
  termios modes = entered_terminal.modes;
  modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  modes.c_iflag &= ~static_cast<tcflag_t>(IXON);  // Ctrl-S does not stop the output
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  SetModes(entered_terminal.keys, TCSADRAIN, modes);
  out_ << kEnter << std::flush;
}

void TerminalMode::Leave() {
  if (!entered_) return;
  entered_ = false;
  ReleaseFatalSignals();
  if (!entered_terminal.entered.exchange(false)) return;
  out_ << kLeave << std::flush;
  // Keys that were not read are dropped, so that the shell does not get them.
  SetModes(entered_terminal.keys, TCSAFLUSH, entered_terminal.modes);
}

void RestoreTerminal() {
  if (!entered_terminal.entered.exchange(false)) return;
  SetModes(entered_terminal.keys, TCSANOW, entered_terminal.modes);
  // A terminal that takes no output, as after Ctrl-S elsewhere, must not hold up the process.
  pollfd writable{entered_terminal.screen, POLLOUT, 0};
  if (entered_terminal.screen < 0 || poll(&writable, 1, 100) != 1) return;
  [[maybe_unused]] const ssize_t written =
      write(entered_terminal.screen, kLeave.data(), kLeave.size());
}

}  // namespace gp::gpctl

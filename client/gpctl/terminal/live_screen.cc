#include "client/gpctl/terminal/live_screen.h"

#include <fcntl.h>
#include <unistd.h>

namespace gp::gpctl {
namespace {

bool IsTerminalOfProcess(const Console& console) { return console.terminal >= 0; }

int OpenKeys(const Console& console) {
  if (!IsTerminalOfProcess(console) || console.in_is_terminal) return -1;
  return open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

int KeysOf(const Console& console, int own_keys) {
  return IsTerminalOfProcess(console) && console.in_is_terminal ? STDIN_FILENO : own_keys;
}

}  // namespace

LiveScreen::LiveScreen(Console& console)
    : console_(console),
      own_keys_(OpenKeys(console)),
      mode_(console.out, console.terminal, KeysOf(console, own_keys_)),
      input_(KeysOf(console, own_keys_)),
      painter_(console.out) {
  mode_.Enter();
}

LiveScreen::~LiveScreen() {
  mode_.Leave();
  if (own_keys_ >= 0) close(own_keys_);
}

bool LiveScreen::IsAvailable(const Console& console) {
  if (!console.Animated()) return false;
  if (!IsTerminalOfProcess(console)) return true;
  const pid_t foreground = tcgetpgrp(console.terminal);
  return foreground < 0 || foreground == getpgrp();
}

void LiveScreen::Draw(const std::vector<ScreenLine>& lines) {
  const TerminalSize size = console_.Size();
  std::vector<std::string> rows;
  for (const ScreenLine& line : lines) {
    if (std::ssize(rows) >= size.rows) break;
    rows.push_back(line.Cut(size.columns, console_.Utf8()).Text(true));
  }
  painter_.Paint(rows);
}

std::vector<KeyPress> LiveScreen::WaitForKeys(std::chrono::nanoseconds longest) {
  ScreenInput::News news = input_.Wait(longest);
  if (news.suspended) {
    mode_.Leave();
    input_.StopProcess();
  }
  if (news.suspended || news.continued) mode_.Enter();
  if (news.suspended || news.continued || news.resized) painter_.Forget();
  return std::move(news.keys);
}

}  // namespace gp::gpctl

// LiveScreen: a full screen on the terminal, redrawn as often as its owner wants, with keys. The
// terminal is restored when this object is destroyed, when the process is stopped (Ctrl-Z) and when
// it is killed by a signal that can be handled. Owned and used by one thread; Wake may be called by
// any.
#pragma once

#include <chrono>
#include <vector>

#include "client/gpctl/terminal/console.h"
#include "client/gpctl/terminal/screen_input.h"
#include "client/gpctl/terminal/screen_line.h"
#include "client/gpctl/terminal/screen_painter.h"
#include "client/gpctl/terminal/terminal_mode.h"

namespace gp::gpctl {

class LiveScreen {
 public:
  // The console must outlive this object. REQUIRES: console.Animated().
  explicit LiveScreen(Console& console);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Whether this process may take the terminal: a program in the background may not.
  static bool IsAvailable(const Console& console);

  // Shows the lines, cut to the terminal's size.
  void Draw(const std::vector<ScreenLine>& lines);

  // Waits for keys, a new size of the terminal or Wake, at most `longest`. Stops the process when
  // the user has typed Ctrl-Z, and returns after it is continued.
  std::vector<KeyPress> WaitForKeys(std::chrono::nanoseconds longest);
  void Wake() { input_.Wake(); }

 private:
  Console& console_;
  const int own_keys_;  // /dev/tty, opened because the input is not a terminal; -1: not opened
  TerminalMode mode_;
  ScreenInput input_;
  ScreenPainter painter_;
};

}  // namespace gp::gpctl

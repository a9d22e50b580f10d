// TerminalMode: the terminal while a full screen is shown: the alternate screen without a cursor,
// keys without echo and without waiting for Enter. Ctrl-C, Ctrl-Z and Ctrl-\ still send signals.
// Leave and the destructor restore the terminal; a signal that kills the process does, too, and
// RestoreTerminal is for an end of the process without destructors. At most one is entered; used by
// one thread.
#pragma once

#include <ostream>

namespace gp::gpctl {

class TerminalMode {
 public:
  // `screen` and `keys`: descriptors of the terminal behind `out` and of the one where keys are
  // typed; -1: none.
  TerminalMode(std::ostream& out, int screen, int keys) : out_(out), screen_(screen), keys_(keys) {}
  ~TerminalMode() { Leave(); }
  TerminalMode(const TerminalMode&) = delete;
  TerminalMode& operator=(const TerminalMode&) = delete;

  // May be repeated: after the process was stopped, something else may have changed the terminal.
  void Enter();
  void Leave();

 private:
  std::ostream& out_;
  const int screen_;
  const int keys_;
  bool entered_ = false;
};

// Restores the terminal if a TerminalMode is entered. May be called by any thread and by handlers
// of signals; the process must end after it.
void RestoreTerminal();

}  // namespace gp::gpctl

// Console: gpctl's input, output and environment. main or a test provides it. Owned by the caller
// of RunGpctl; used by its thread alone.
#pragma once

#include <functional>
#include <istream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/api/interruption.h"

namespace gp::gpctl {

struct TerminalSize {
  int columns = 80;
  int rows = 24;
};

struct Console {
  std::istream& in;
  std::ostream& out;                   // results
  std::ostream& err;                   // messages
  client::Interruption& interruption;  // Ctrl-C and SIGTERM
  Clock& clock;

  std::map<std::string, std::string> environment;
  std::string program_directory;  // where the other gp programs are
  std::string working_directory;

  bool in_is_terminal = false;
  bool out_is_terminal = false;
  int terminal =
      -1;  // the descriptor of the terminal that `out` writes to; -1: a test, or no terminal
  TerminalSize size;
  std::function<TerminalSize()>
      measured_size;                  // the current size of a real terminal, which may be resized
  std::function<int()> output_error;  // errno of the first write to `out` that failed, or 0

  // Prints what a command has changed, as text or as a document. If `out` cannot be written, prints
  // it to `err` and returns false: an unreported change would be repeated or forgotten.
  bool PrintChange(const std::string& text) const;
  // Prints each warning after "warning: "; the coordinator's about a run file begin so themselves.
  void Warn(const std::vector<std::string>& warnings) const;
  // The value of an environment variable; "" when it is not set.
  std::string Variable(const std::string& name) const;
  // Whether the locale can show block characters and accents.
  bool Utf8() const;
  TerminalSize Size() const { return measured_size ? measured_size() : size; }
  // Whether screens may be redrawn in place and have colours.
  bool Animated() const;
};

// The console of this process.
Console SystemConsole(client::Interruption& interruption);

}  // namespace gp::gpctl

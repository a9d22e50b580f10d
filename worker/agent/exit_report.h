// ExitReport: why a trainer process ended, in the words of the wire. Pure functions, thread-safe.
#pragma once

#include <optional>
#include <string>

#include "gp/v1/agent_service.pb.h"
#include "link/messages.h"

namespace gp::agent {

struct ExitReport {
  v1::ExitCause cause = v1::EXIT_CAUSE_UNSPECIFIED;
  int code = 0;  // exit code, or the signal's number for SIGNAL
  std::string message;
};

// What was known when the process was reaped.
struct ExitEvidence {
  int wait_status = 0;                 // as waitpid gives it
  bool finished = false;               // it said that all its steps are done
  bool told_stop = false;              // we asked it to stop
  std::string kill_reason;             // we killed it, and why; empty: we did not
  bool memory_killed = false;          // the kernel's out-of-memory killer struck while it ran
  std::optional<link::Failed> failed;  // these two: its last words
  std::optional<link::Stopped> stopped;
  std::string last_line;  // the last line it printed
};

// The cause in order of authority: our own stop, its last words, the exit code or signal. The
// message is never empty.
ExitReport Explain(const ExitEvidence& evidence);

}  // namespace gp::agent

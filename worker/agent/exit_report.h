// ExitReport: why a trainer process ended, with the causes of the gRPC messages. Pure functions,
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "contract/messages.h"
#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

struct ExitReport {
  v1::ExitCause cause = v1::EXIT_CAUSE_UNSPECIFIED;
  int code = 0;  // exit code, or the signal's number for SIGNAL
  std::string message;
};

// The facts known when the process was reaped.
struct ExitEvidence {
  int wait_status = 0;                 // from waitpid
  bool finished = false;               // it reported that all its steps are done
  bool told_stop = false;              // we asked it to stop
  std::string kill_reason;             // we killed it, and why; empty: we did not
  bool memory_killed = false;          // the kernel's out-of-memory killer struck while it ran
  uint64_t memory_limit_bytes = 0;     // of its control group; 0: it has none
  std::optional<link::Failed> failed;  // this and stopped: its last message
  std::optional<link::Stopped> stopped;
  std::string last_line;  // the last line it printed
};

// Finds the cause. The agent's own stop comes first, then the trainer's last message, then the exit
// code or signal. The message is never empty.
ExitReport Explain(const ExitEvidence& evidence);

}  // namespace gp::agent

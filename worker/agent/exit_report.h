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
  int code = 0;  // exit code, or the number of the signal that ended it; 0 if it was not started
  std::string message;
};

// The facts known when the process was reaped.
struct ExitEvidence {
  int wait_status = 0;      // from waitpid
  bool finished = false;    // it reported that all its steps are done
  bool told_stop = false;   // the agent asked it to stop
  std::string kill_reason;  // why the agent killed it; empty: it did not
  bool hung = false;        // the agent killed it because it made no progress
  // The kernel killed a process for lack of memory: in its control group, or without such a group
  // anywhere on this machine while it ran.
  bool memory_killed = false;
  uint64_t memory_limit_bytes = 0;     // of its control group, if it was reached; else 0
  std::optional<link::Failed> failed;  // this and stopped: its last message
  std::optional<link::Stopped> stopped;
  std::string last_line;  // the last line it printed
};

// Finds the cause. For exit code 0, in this order: Stopped, Finished, the agent's request to stop;
// without any of them it is an ERROR. Otherwise: the agent's request to stop, Failed, the agent's
// reason to kill it, an out-of-memory kill, the exit code or signal. An exit code alone never means
// a cause that ends the run. The message is never empty.
ExitReport Explain(const ExitEvidence& evidence);

}  // namespace gp::agent

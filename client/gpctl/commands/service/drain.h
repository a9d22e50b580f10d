// gpctl workers drain: takes a node out of use and reports how its runs leave.
#pragma once

#include <string>

#include "client/gpctl/session/exit_code.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct DrainOptions {
  std::string node;
  std::string reason;
  std::string longest = "10m";
};

// Returns when nothing runs on the node. DeadlineExceeded when that takes more than `longest` (a
// duration): the node stays drained. FailedPrecondition when the node is opened again meanwhile.
// Ctrl-C ends the wait, not the drain: kInterrupted.
StatusOr<ExitCode> Drain(const DrainOptions& options, Session& session);

}  // namespace gp::gpctl

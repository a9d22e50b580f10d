// `gpctl doctor --overfit RUNFILE`: checks that the model of a run file can learn one batch. Runs
// gp-trainer beside gpctl. Used by the thread of the session.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gpctl/session/exit_code.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct OverfitOptions {
  std::string file;
  std::vector<std::string> overrides;
};

// `file`: "-" reads standard input. Prints the loss of each step and the verdict; kFailure when the
// batch was not learned (its loss did not fall below 0.01). InvalidArgument for a run file with
// problems; FailedPrecondition without gp-trainer.
StatusOr<ExitCode> Overfit(const OverfitOptions& options, Session& session);

}  // namespace gp::gpctl

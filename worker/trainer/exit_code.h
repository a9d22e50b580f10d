// The exit code of gp-trainer for the cause of its end. Several causes share a code, so it does not
// identify the cause: an agent that did not receive the trainer's last message treats the end as
// retryable if any cause with that code is (worker/agent/exit_report.cc). Pure function.
#pragma once

#include "base/exit_code.h"
#include "contract/messages.h"

namespace gp::engine {

inline ExitCode ExitCodeOf(contract::ExitCause cause) {
  switch (cause) {
    case contract::ExitCause::kConfig:
    case contract::ExitCause::kData:
      return ExitCode::kUsage;
    case contract::ExitCause::kStorage:
      return ExitCode::kStorage;
    case contract::ExitCause::kDamagedCheckpoint:
      return ExitCode::kDamaged;
    case contract::ExitCause::kCollective:
      return ExitCode::kCollective;
    default:
      return ExitCode::kFailure;
  }
}

}  // namespace gp::engine

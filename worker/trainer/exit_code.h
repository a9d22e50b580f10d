// The exit code of gp-trainer for the cause of its end. The supervisor uses it when the last
// message was lost (worker/agent/exit_report.h); several causes share a code. Pure function.
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

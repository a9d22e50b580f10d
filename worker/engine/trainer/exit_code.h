// The exit code of gp-trainer for what ended it, which a supervisor reads when the last words got
// lost. Pure function.
#pragma once

#include "base/exit_code.h"
#include "link/messages.h"

namespace gp::engine {

inline ExitCode ExitCodeOf(link::ExitCause cause) {
  switch (cause) {
    case link::ExitCause::kConfig:
      return ExitCode::kUsage;
    case link::ExitCause::kStorage:
      return ExitCode::kStorage;
    case link::ExitCause::kDamagedCheckpoint:
      return ExitCode::kDamaged;
    case link::ExitCause::kCollective:
      return ExitCode::kCollective;
    default:
      return ExitCode::kFailure;
  }
}

}  // namespace gp::engine

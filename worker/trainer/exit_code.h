// The exit code of gp-trainer for the cause of its end. The supervisor uses it when the last
// message was lost. Pure function.
#pragma once

#include "base/exit_code.h"
#include "contract/messages.h"

namespace gp::engine {

inline ExitCode ExitCodeOf(link::ExitCause cause) {
  switch (cause) {
    case link::ExitCause::kConfig:
    case link::ExitCause::kData:
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

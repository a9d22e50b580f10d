// The exit codes of gp-trainer, which a supervisor reads when the last words got lost. Pure
// functions.
#pragma once

#include "link/messages.h"

namespace gp::engine {

inline constexpr int kExitDone = 0;  // or stopped
inline constexpr int kExitError = 1;
inline constexpr int kExitConfig = 2;
inline constexpr int kExitStorage = 3;
inline constexpr int kExitCollective = 4;
inline constexpr int kExitFenced = 86;

inline int ExitCodeOf(link::ExitCause cause) {
  switch (cause) {
    case link::ExitCause::kConfig:
      return kExitConfig;
    case link::ExitCause::kStorage:
    case link::ExitCause::kDamagedCheckpoint:
      return kExitStorage;
    case link::ExitCause::kCollective:
      return kExitCollective;
    default:
      return kExitError;
  }
}

}  // namespace gp::engine

#include "coordinator/state/rank.h"

namespace gp::coordinator {

std::string_view Name(ExitCause cause) {
  switch (cause) {
    case ExitCause::kCompleted:
      return "completed";
    case ExitCause::kStopped:
      return "stopped";
    case ExitCause::kSignal:
      return "killed by a signal";
    case ExitCause::kOutOfMemory:
      return "out of memory";
    case ExitCause::kCollective:
      return "lost a peer";
    case ExitCause::kConfig:
      return "bad configuration or data";
    case ExitCause::kStorage:
      return "storage failed";
    case ExitCause::kError:
      return "error";
    case ExitCause::kSpawnFailed:
      return "could not be started";
    case ExitCause::kUnfit:
      return "cannot repeat the numerical choices recorded in the run";
    case ExitCause::kDamagedCheckpoint:
      return "its checkpoint is damaged";
    case ExitCause::kData:
      return "missing or changed data";
    case ExitCause::kStalled:
      return "made no progress";
    case ExitCause::kDiverged:
      return "diverged";
    case ExitCause::kUnspecified:
      break;
  }
  return "lost";
}

}  // namespace gp::coordinator

#include "client/gpctl/exit_code.h"

namespace gp::gpctl {

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return ExitCode::kOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange:
      return ExitCode::kUsage;
    case StatusCode::kNotFound:
      return ExitCode::kNotFound;
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
      return ExitCode::kNotAllowed;
    case StatusCode::kAlreadyExists:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kAborted:
      return ExitCode::kConflict;
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
      return ExitCode::kUnreachable;
    case StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kFailure;
  }
}

ExitCode ExitCodeOf(v1::RunState state) {
  if (state == v1::RUN_STATE_FAILED) return ExitCode::kRunFailed;
  if (state == v1::RUN_STATE_CANCELLED) return ExitCode::kRunCancelled;
  return ExitCode::kOk;
}

}  // namespace gp::gpctl

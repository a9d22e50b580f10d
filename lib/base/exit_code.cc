#include "base/exit_code.h"

namespace gp {

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
    case StatusCode::kDataLoss:
      return ExitCode::kDamaged;
    case StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kFailure;
  }
}

}  // namespace gp

// ExitCode: what gpctl tells the shell; the table users see is 'gpctl help exit-codes'. Pure;
// thread-safe.
#pragma once

#include "base/status.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

enum class ExitCode {
  kOk = 0,
  kFailure = 1,
  kUsage = 2,     // or an invalid run file
  kNotFound = 3,  // or ambiguous
  kNotAllowed = 4,
  kConflict = 5,     // wrong state, or a request id used again for something else
  kUnreachable = 6,  // or timed out; worth trying again
  kRunFailed = 7,
  kRunCancelled = 8,
  kInterrupted = 130,
};

ExitCode ExitCodeOf(const Status& status);

// Of a command that waited for the end of a run.
ExitCode ExitCodeOf(v1::RunState state);

}  // namespace gp::gpctl

// ExitCode: the exit codes of every program of gp. Users read the table with 'gpctl help
// exit-codes'. Pure; thread-safe.
#pragma once

#include "base/status.h"

namespace gp {

enum class ExitCode {
  kOk = 0,  // or stopped on request
  kFailure = 1,
  kUsage = 2,     // or an invalid run file
  kNotFound = 3,  // or ambiguous
  kNotAllowed = 4,
  kConflict = 5,     // wrong state, or a request id used again for something else
  kUnreachable = 6,  // or timed out; worth trying again
  kRunFailed = 7,
  kRunCancelled = 8,
  kDamaged = 9,      // a checkpoint or another file is damaged
  kStorage = 10,     // a file cannot be read or written; may be temporary
  kCollective = 11,  // the other ranks of the run went away
  // Do not reuse 86: a trainer before the first release exited with it.
  kInterrupted = 130,
};

constexpr int ProcessStatus(ExitCode code) { return static_cast<int>(code); }

ExitCode ExitCodeOf(const Status& status);

}  // namespace gp

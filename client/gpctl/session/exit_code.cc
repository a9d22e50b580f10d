#include "client/gpctl/session/exit_code.h"

namespace gp::gpctl {

ExitCode ExitCodeOf(v1::RunState state) {
  if (state == v1::RUN_STATE_FAILED) return ExitCode::kRunFailed;
  if (state == v1::RUN_STATE_CANCELLED) return ExitCode::kRunCancelled;
  return ExitCode::kOk;
}

}  // namespace gp::gpctl

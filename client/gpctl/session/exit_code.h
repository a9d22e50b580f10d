// Exit codes for the end of a run; the table of all codes is in base/exit_code.h. Pure;
// thread-safe.
#pragma once

#include "base/exit_code.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

using gp::ExitCodeOf;
// The exit code of a command that waited for the end of a run.
ExitCode ExitCodeOf(v1::RunState state);

}  // namespace gp::gpctl

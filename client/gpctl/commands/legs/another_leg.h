// Asks the coordinator for another leg of a run and prints what it will do. Used by gpctl's main
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/gpctl/session/exit_code.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

// The help text of a RUN argument.
inline constexpr char kRunArgument[] = "name, id, unique prefix of an id, or @last";

// The help text of --wait.
inline constexpr char kWaitForEnd[] =
    "wait until it ends; exit code 7 if it failed, 8 if it was cancelled";

// Sends the request and prints where the run continues, up to which step, and its learning rate
// there. With `wait`, then follows the run to its end, without the steps that it took `before`.
StatusOr<ExitCode> BeginLeg(v1::ContinueRequest request, const v1::Run& before, bool wait,
                            Session& session);

}  // namespace gp::gpctl

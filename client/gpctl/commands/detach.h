// The message of a command that Ctrl-C ends while the run continues. Used by gpctl's main thread.
#pragma once

#include <string>

#include "client/gpctl/session/exit_code.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

// Prints on stderr that the run continues and how to follow it again. Returns kInterrupted.
ExitCode SayDetached(const std::string& run_name, const std::string& comeback, Session& session);

}  // namespace gp::gpctl

// What a command says when Ctrl-C ends it while the run goes on. Used by gpctl's main thread.
#pragma once

#include <string>

#include "client/gpctl/exit_code.h"
#include "client/gpctl/session.h"

namespace gp::gpctl {

// Says on stderr that the run keeps going and how to come back. Answers kInterrupted.
ExitCode SayDetached(const std::string& run_name, const std::string& comeback, Session& session);

}  // namespace gp::gpctl

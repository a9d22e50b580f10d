// How gpctl shows an error on stderr: as text, or as a JSON document with -o json. Pure;
// thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "client/gpctl/session/exit_code.h"

namespace gp::gpctl {

std::string ErrorText(const Status& status, ExitCode code, bool json);

}  // namespace gp::gpctl

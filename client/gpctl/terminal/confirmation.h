// Asks before something is lost. Used by gpctl's thread only.
#pragma once

#include <string>

#include "base/status.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

// Asks on the error stream and reads the answer: true for y or yes. Without a terminal nobody is
// asked and the answer is no. Cancelled when Ctrl-C comes first.
StatusOr<bool> Confirmed(const std::string& question, const Console& console);

}  // namespace gp::gpctl

// gpctl as a function: parses the arguments, runs the command, reports its result. main calls it,
// and tests call it in their process; one call at a time per console.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

// `arguments` without the program's name. Returns the exit code of the process.
int RunGpctl(const std::vector<std::string>& arguments, Console& console);

}  // namespace gp::gpctl

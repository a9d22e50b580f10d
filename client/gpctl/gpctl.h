// gpctl as a function: parse, run, report. Called by main and, in process, by tests; one call at a
// time per console.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/console.h"

namespace gp::gpctl {

// `arguments` without the program's name. Returns the exit code of the process.
int RunGpctl(const std::vector<std::string>& arguments, Console& console);

}  // namespace gp::gpctl

// Settings that an engine cannot combine. Part of runspec/cross_check.h. Pure; thread-safe.
#pragma once

#include <vector>

#include "plan/run_spec.h"
#include "runspec/cross_check.h"

namespace gp::runspec {

// Appends the problems of engine.* and precision.
void CheckEngine(const RunSpec& spec, std::vector<CrossProblem>& problems);

}  // namespace gp::runspec

// Checks of the run file's keys that name parts of the model: train and learning_rates. Pure;
// thread-safe.
#pragma once

#include <vector>

#include "runspec/cross_check.h"

namespace gp::runspec {

// Appends the problems. REQUIRES: every value is in its own range.
void CheckModelParts(const RunSpec& spec, std::vector<CrossProblem>& problems);

}  // namespace gp::runspec

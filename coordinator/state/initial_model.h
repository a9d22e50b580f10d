// The model that a run begins with: init_from in its resolved file. Pure functions; thread-safe.
#pragma once

#include <string>

#include "coordinator/state/run.h"

namespace gp::coordinator {

// The path of init_from; empty when the run begins from scratch.
std::string InitialModelOf(const Submission& submission);

// Writes another path into the resolved file. REQUIRES: the run does not begin from scratch.
void SetInitialModel(Submission& submission, const std::string& path);

}  // namespace gp::coordinator

// Measures a step's time by operation. One thread calls.
#pragma once

#include <vector>

#include "worker/bench/report.h"
#include "worker/bench/timed_backend.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

// Runs a few steps without graphs, each operation between two marks of the backend, and returns one
// step's operations, the longest first: [{"name", "calls", "ms"}]. Marks and missing graphs add a
// little to each. Throws std::invalid_argument for the reference engine.
Json ProfileStep(const ModelOptions& options);

// The same list from the times of `count` steps that the caller timed.
Json OperationsJson(const std::vector<OperationTime>& times, int count);

// Prints the list as text.
void PrintProfile(const Json& operations);

}  // namespace gp::engine

// FaultRun: the one training of the fault tests: a model so small that a step takes milliseconds,
// with everything that could betray a lost or repeated step: dropout, accumulation, four logical
// shards, a schedule. Pure functions.
#pragma once

#include <string>

#include "integration/cluster.h"

namespace gp::testing {

// The run file for `workers` ranks; its text is in <directory>/text.txt.
std::string FaultRun(int workers, int steps);

// Writes text.txt into the cluster's directory.
void WriteText(const Cluster& cluster);

// The bytes of model.safetensors of the run's newest sealed checkpoint; the test fails when there
// is none.
std::string FinalWeights(Cluster& cluster, const std::string& run);

// Trains `steps` with one rank and no disturbance, once per process, and gives the final weights.
const std::string& UndisturbedWeights(int steps);

}  // namespace gp::testing

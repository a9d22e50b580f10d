// Describes where a run starts, for its reasons and events. Pure; thread-safe.
#pragma once

#include <string>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

// The model that the run began with: "base@250" of the parent's run and step when both are known,
// otherwise its path; empty when it began from scratch.
std::string InitialModelName(const Run& run, const Cluster& cluster);

// "from step 250" of the run's own newest checkpoint. Before there is one: "from the model
// base@250" of the parent's run and step, "from the model /models/gpt2", or "from scratch". When
// its checkpoints are damaged or gone, this says so.
std::string DescribeStart(const Run& run, const Cluster& cluster);

}  // namespace gp::coordinator

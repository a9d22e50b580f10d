// Describes in text where a run starts, for its reasons and events. The checkpoint itself is chosen
// in scheduler/queue.cc. Pure; thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "coordinator/state/cluster.h"

namespace gp::coordinator {

struct KnownCheckpoint {
  std::shared_ptr<const Run> run;
  SealedCheckpoint checkpoint;
};

// The checkpoint in this directory, if it is sealed and its run is known. Also finds the kept
// checkpoints of a deleted run.
std::optional<KnownCheckpoint> FindCheckpointAt(const Cluster& cluster, const std::string& path);

// Why no run can begin from the model in this directory; empty when one can, as far as the
// catalogue knows.
std::string InitialModelRefusal(const Cluster& cluster, const std::string& path);

// The model that the run started from: "base@250" for the parent's run and step if both are known,
// otherwise its path; empty when it started from scratch.
std::string InitialModelName(const Run& run, const Cluster& cluster);

// "from step 250" for the run's own newest checkpoint; also says where the run diverged if it goes
// on after that. Before there is one: "from the model
// base@250" for the parent's run and step ("from the checkpoint base@250" if it continues in the
// parent's data), "from the model /models/gpt2", or "from scratch". Also says when its checkpoints
// are damaged or gone.
std::string DescribeStart(const Run& run, const Cluster& cluster);

}  // namespace gp::coordinator

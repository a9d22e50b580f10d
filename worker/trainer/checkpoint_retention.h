// Which checkpoints of a run are kept: the newest few, the one with the lowest validation loss, and
// the first at or after each multiple of keep_every steps. Under the service the coordinator's
// catalogue decides; this is for a standalone trainer. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/run_spec.h"
#include "storage/storage.h"

namespace gp::engine {

struct StoredCheckpoint {
  std::string directory;
  int64_t step = 0;
  std::optional<double> validation_loss;
};

// The directories to remove, in ascending order of steps.
std::vector<std::string> ExpendableCheckpoints(std::vector<StoredCheckpoint> stored,
                                               const runspec::CheckpointSpec& spec);

// Removes expendable checkpoints below `parent`. Never removes one whose manifest cannot be read.
Status PruneCheckpoints(const Storage& storage, const std::string& parent,
                        const runspec::CheckpointSpec& spec);

}  // namespace gp::engine

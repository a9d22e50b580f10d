// Checks that the checkpoint to resume from is visible to all ranks of a group. A shared file
// system may show a file on one node later than on another, or a node may have other storage at
// this path. Every rank of the group calls; errors are TrainingErrors.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "contract/written_checkpoint.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

struct VisibilityTimeout {
  // All checks together take longer than the time for which a network file system remembers, by
  // default, that a name does not exist.
  int checks = 6;
  std::chrono::milliseconds pause = std::chrono::seconds(1);
};

// Returns what is missing of the checkpoint on this node; nullopt if every file in its manifest
// exists with its size. Does not read the contents.
std::optional<std::string> MissingOfCheckpoint(const contract::ResumePoint& resume);

// Returns when all ranks see the whole checkpoint, or when none does: then it is damaged, and
// reading it will fail. While only some ranks see it, all ranks check again. After `timeout` the
// ranks that still miss something throw kStorage.
void AwaitCheckpointVisible(const std::string& directory,
                            const std::function<std::optional<std::string>()>& find_missing,
                            Communicator& communicator, const VisibilityTimeout& timeout = {});

}  // namespace gp::engine

// Checks that all ranks of a group see the checkpoint that they resume from. A shared file system
// may show a file to one node later than to another, or a node may have other storage at this path.
// Every rank of the group calls; errors are TrainingErrors.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "contract/written_checkpoint.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

struct SightPatience {
  // All looks together take longer than network file systems cache the absence of a name by
  // default.
  int looks = 6;
  std::chrono::milliseconds pause = std::chrono::seconds(1);
};

// Tells what is missing of the checkpoint on this node; nullopt when every file in its manifest is
// here with its size. Does not read the contents.
std::optional<std::string> MissingOfCheckpoint(const contract::ResumePoint& resume);

// Returns when all ranks see the whole checkpoint, or when no rank does: then it is damaged, and
// reading it will fail. While only some ranks see it, all look again. When patience is over, the
// ranks that still miss something throw kStorage.
void AgreeOnSight(const std::string& directory,
                  const std::function<std::optional<std::string>()>& look,
                  Communicator& communicator, const SightPatience& patience = {});

}  // namespace gp::engine

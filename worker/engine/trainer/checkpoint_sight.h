// Whether all ranks of a group see the checkpoint that they resume from. A shared file system may
// show a file to one node later than to another; and a node may have other storage there. Every
// rank of the group calls; errors are TrainingErrors.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "link/messages.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

struct SightPatience {
  // Together longer than network file systems keep a name's absence in mind by default.
  int looks = 6;
  std::chrono::milliseconds pause = std::chrono::seconds(1);
};

// What of the checkpoint is missing here, in words; nothing when every file that its manifest lists
// is here with its size. Contents are not read.
std::optional<std::string> MissingOfCheckpoint(const link::ResumePoint& resume);

// Returns when `look` finds nothing missing on every rank, or on none: then it is damaged, as who
// reads it will say. While some ranks see what others miss, all look again; when patience is over,
// those that still miss something throw kStorage.
void AgreeOnSight(const std::string& directory,
                  const std::function<std::optional<std::string>()>& look,
                  Communicator& communicator, const SightPatience& patience = {});

}  // namespace gp::engine

// Finds the checkpoints of a named directory: one checkpoint, or those of a run's directory. Pure
// apart from reading files; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gateway/models/served_checkpoint.h"

namespace gp::gateway {

struct NamedDirectory {
  std::string name;
  std::string directory;
};

// "NAME=DIR". InvalidArgument says what is missing.
StatusOr<NamedDirectory> ParseNamedDirectory(std::string_view text);

// OK when there is a readable checkpoint. Otherwise an error that names the directory and says what
// it should contain: NotFound, DataLoss, or the reason why it cannot be read.
Status CheckDirectory(const NamedDirectory& named);

// The checkpoints that exist now; may be empty.
ServedRun ScanDirectory(const NamedDirectory& named);

}  // namespace gp::gateway

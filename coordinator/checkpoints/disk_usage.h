// How much of the storage runs occupy. Reads the sizes of files, so it may take long on a shared
// file system. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/state/cluster.h"
#include "storage/storage.h"

namespace gp::coordinator {

struct RunSize {
  uint64_t checkpoint_bytes = 0;  // of sealed checkpoints, those in quarantine not included
  uint64_t other_bytes = 0;       // everything else in the run's directory
  int checkpoints = 0;
  int pinned = 0;

  uint64_t total_bytes() const { return checkpoint_bytes + other_bytes; }
};

RunSize SizeOf(const Storage& storage, const Run& run);

// The size of the checkpoints that the run's deletion kept.
RunSize SizeOf(const Storage& storage, const DeletedRun& run);

// The size of the file `path`, or of all files below the directory `path`. What does not exist or
// cannot be read counts as 0. Symbolic links to directories are not followed.
uint64_t BytesAt(const Storage& storage, const std::string& path);

}  // namespace gp::coordinator

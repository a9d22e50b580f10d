// DeletedRun: what is kept of a run after a user or retention deleted it, so that errors about its
// name can explain what happened. A value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/state/ids.h"
#include "coordinator/state/time.h"

namespace gp::coordinator {

struct Run;

struct DeletedRun {
  RunId id;
  std::string name;
  std::string run_namespace;  // never empty
  std::string run_directory;
  std::string deleted_by;  // the actor of the deletion: "user alice"
  Timestamp deleted_at{};
  std::string request_id;  // of the deletion
  // Directories of sealed checkpoints that stay, for the runs that began from them.
  std::vector<std::string> kept_checkpoints;
  // The run as it was, while checkpoints of it are kept: runs that began from them compute with the
  // engine of the leg that wrote them. Null when none is kept.
  std::shared_ptr<const Run> kept_run;
  int checkpoints = 0;       // sealed ones, removed or kept
  uint64_t freed_bytes = 0;  // measured before the deletion
};

}  // namespace gp::coordinator

// FilePolicy: which files the trainer of an assignment may touch on this node. The agent decides;
// the trainer checks the names, and the kernel enforces it (worker/trainer/run_files.h).
// Nothing here touches a file, as a file system may hang. Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

struct FilePolicy {
  std::string storage_root;
  // Directories beneath which runs may name files. If empty, runs of the owner of the coordinator's
  // Unix socket may name all files when `owners_coordinator` is set, and all other runs none. A
  // checkpoint of a run below storage_root that init_from names is always allowed.
  std::vector<std::string> data_roots;
  bool owners_coordinator = false;  // this agent, too, reaches the coordinator through that socket
};

// The trainer's arguments for these files. InvalidArgument when the assignment's directory is not
// the run's own below storage_root.
StatusOr<std::vector<std::string>> FileArguments(const v1::Assignment& assignment,
                                                 const FilePolicy& policy);

}  // namespace gp::agent

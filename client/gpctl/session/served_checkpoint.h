// The names of a checkpoint in gateways, and the gateway that a command can use. Used by gpctl's
// main thread.
#pragma once

#include <optional>
#include <string>

#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct ServedCheckpoint {
  std::string name;       // the run's name: "demo"
  std::string model;      // "demo@2000"; "demo" for a run's directory: newer ones may appear there
  std::string id;         // "RUN_ID@2000", which no other run has; empty for a directory
  std::string directory;  // absolute
};

// The checkpoint of RUN, RUN@STEP, RUN@best or a directory. NotFound when the directory does not
// exist or has no checkpoint; DataLoss when the checkpoint is damaged.
StatusOr<ServedCheckpoint> FindServed(const std::string& reference, Session& session);

// HOST:PORT of the gateway that runs with the service of this invocation; nullopt if that service
// was not started by 'gpctl up' on this machine, or no gateway runs with it.
std::optional<std::string> FindGateway(const Session& session);

}  // namespace gp::gpctl

// A checkpoint as gateways know it, and the gateway that a command can ask. Used by gpctl's main
// thread.
#pragma once

#include <optional>
#include <string>

#include "client/gpctl/session.h"

namespace gp::gpctl {

struct ServedCheckpoint {
  std::string model;      // "demo@2000", or the last part of a directory
  std::string id;         // the same by the run's id, which no other run has; empty for a directory
  std::string directory;  // absolute
};

// What RUN, RUN@STEP, RUN@best or a directory means.
StatusOr<ServedCheckpoint> FindServed(const std::string& reference, Session& session);

// HOST:PORT of the gateway that runs with the service of this invocation; nothing when there is
// none on this machine.
std::optional<std::string> FindGateway(const Session& session);

}  // namespace gp::gpctl

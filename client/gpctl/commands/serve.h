// Pieces of `gpctl serve` that `gpctl chat` shares. Used by gpctl's main thread.
#pragma once

#include <memory>
#include <string>

#include "client/gpctl/service/private_gateway.h"
#include "client/gpctl/session.h"

namespace gp::gpctl {

struct ServedCheckpoint {
  std::string model;      // "demo@2000", or the last part of a directory
  std::string directory;  // absolute
};

// What RUN, RUN@STEP, RUN@best or a directory means, and what a gateway is to call it.
StatusOr<ServedCheckpoint> FindServed(const std::string& reference, Session& session);

// Starts a gateway that serves `served` alone. FailedPrecondition when this build has none.
StatusOr<std::unique_ptr<PrivateGateway>> StartPrivateGateway(const ServedCheckpoint& served,
                                                              PrivateGatewayOptions options,
                                                              Session& session);

}  // namespace gp::gpctl

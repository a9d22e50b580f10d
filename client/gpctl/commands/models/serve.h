// Pieces of `gpctl serve` that `gpctl chat` shares. Used by gpctl's main thread.
#pragma once

#include <memory>
#include <string>

#include "client/gpctl/service/private_gateway.h"
#include "client/gpctl/session/served_checkpoint.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

// Starts a gateway that serves `served` alone. NotFound when its directory does not exist;
// FailedPrecondition when there is no gp-gateway beside gpctl; other errors as
// PrivateGateway::Start.
StatusOr<std::unique_ptr<PrivateGateway>> StartPrivateGateway(const ServedCheckpoint& served,
                                                              PrivateGatewayOptions options,
                                                              Session& session);

}  // namespace gp::gpctl

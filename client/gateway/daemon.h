// The gateway as one object graph: built top-down, torn down bottom-up. Called once, by main.
#pragma once

#include "base/status.h"
#include "client/gateway/settings.h"
#include "daemon/program.h"

namespace gp::gateway {

// Serves until SIGTERM or SIGINT. An error: it could not start, in one line.
Status RunGateway(const GatewaySettings& settings, const daemon::Runtime& runtime);

}  // namespace gp::gateway

// The gateway as one object graph, built top-down and torn down bottom-up. Called once, by main.
#pragma once

#include "base/status.h"
#include "client/gateway/settings.h"
#include "daemon/program.h"

namespace gp::gateway {

// Serves until SIGTERM or SIGINT; then requests in progress have server.stop_grace, and a second
// signal ends it at once. Returns an error, in one line, if it could not start.
Status RunGateway(const GatewaySettings& settings, const daemon::Runtime& runtime);

}  // namespace gp::gateway

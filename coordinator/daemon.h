// The coordinator as one object graph, built top-down and torn down bottom-up. Called once, by
// main.
#pragma once

#include "base/status.h"
#include "coordinator/settings.h"
#include "daemon/program.h"

namespace gp::coordinator {

// Serves until SIGTERM or SIGINT. Returns an error, in one line, if it could not start.
Status RunCoordinator(const CoordinatorSettings& settings, const daemon::Runtime& runtime);

}  // namespace gp::coordinator

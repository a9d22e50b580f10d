// The coordinator as one object graph: built top-down, torn down bottom-up. Called once, by main.
#pragma once

#include "base/status.h"
#include "coordinator/settings.h"
#include "daemon/program.h"

namespace gp::coordinator {

// Serves until SIGTERM or SIGINT. An error: it could not start, in one line.
Status RunCoordinator(const CoordinatorSettings& settings, const daemon::Runtime& runtime);

}  // namespace gp::coordinator

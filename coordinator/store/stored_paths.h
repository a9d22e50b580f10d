// Paths in the storage root, stored relative to it so that the root can move. Pure functions;
// thread-safe.
#pragma once

#include <string>

#include "coordinator/state/event.h"

namespace gp::coordinator {

// `event` with its path (the run's directory, or that of a sealed or retired checkpoint), and the
// path of the model a run starts from, relative to `root`: "runs/ID/checkpoints/NAME". Paths
// elsewhere stay as they are; all do if `root` is empty.
Event WithRelativePath(Event event, const std::string& root);

// The reverse of WithRelativePath.
Event WithAbsolutePath(Event event, const std::string& root);

// For files of gp.db before version 4, which have absolute paths. Cuts off the part before
// "runs/ID", the storage root, and returns it; empty when the event names no path of its run.
std::string CutRoot(Event& event);

}  // namespace gp::coordinator

// Paths in the storage root, which the store keeps relative to it, so that the root can move. Pure
// functions; thread-safe.
#pragma once

#include <string>

#include "coordinator/state/event.h"

namespace gp::coordinator {

// `event` with the path that it names, and with the model that a run begins with, seen from `root`:
// "runs/ID/checkpoints/NAME". What lies elsewhere stays as it is, and everything when `root` is
// empty.
Event WithRelativePath(Event event, const std::string& root);

// The reverse.
Event WithAbsolutePath(Event event, const std::string& root);

// Versions before 4 stored absolute paths. Cuts off what stands before "runs/ID" and returns it,
// which was the storage root; empty when the event names no path of its run.
std::string CutRoot(Event& event);

}  // namespace gp::coordinator

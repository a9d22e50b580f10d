// Training under a supervisor: the link's messages in the order of docs/formats/link.md, from Hello
// to the seal of the final checkpoint. One call per process, from the main thread.
#pragma once

#include "base/clock.h"
#include "base/file.h"
#include "worker/engine/trainer/run_files.h"

namespace gp::engine {

// Trains as the supervisor on `socket` requests, and returns the process's exit code. Ends the
// process itself when the link breaks or a Fence arrives. A run that names other files than `files`
// allows fails before any of them is opened.
int RunLinked(FileDescriptor socket, const RunFiles& files, const Clock& clock);

}  // namespace gp::engine

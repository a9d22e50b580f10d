// Training under a supervisor: the link's messages in the order of docs/formats/link.md, from Hello
// to the seal of the final checkpoint. One call per process, from the main thread.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/file.h"
#include "worker/trainer/run_files.h"
#include "worker/trainer/run_storage.h"

namespace gp::engine {

// Trains as the supervisor on `socket` requests, and returns the process's exit code. Ends the
// process itself when the link breaks or a Fence arrives. A run that names other files than `files`
// allows fails before any of them is opened. Checkpoints are written to `storage`; nullptr when
// this process is not confined.
int RunLinked(FileDescriptor socket, const RunFiles& files, std::shared_ptr<RunStorage> storage,
              const Clock& clock);

}  // namespace gp::engine

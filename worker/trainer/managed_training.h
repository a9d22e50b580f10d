// Training that a supervisor (the agent) manages: exchanges the messages of docs/formats/link.md in
// their order, from Hello to the seal of the final checkpoint. One call per process, from the main
// thread.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/file.h"
#include "worker/trainer/run_files.h"
#include "worker/trainer/run_storage.h"

namespace gp::engine {

// Trains as the supervisor on `socket` requests, and returns the process's exit code. Exits the
// process if the link breaks. A run that names files outside `files` fails before any of them is
// opened. Checkpoints are written to `storage`, which is nullptr if this process is not confined.
int RunManaged(FileDescriptor socket, const RunFiles& files, std::shared_ptr<RunStorage> storage,
               const Clock& clock);

}  // namespace gp::engine

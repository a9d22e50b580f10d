// The daemon gp-worker: puts the parts together and runs the agent on the calling thread until
// SIGTERM or SIGINT.
#pragma once

#include <iosfwd>

#include "base/status.h"
#include "worker/agent/options.h"

namespace gp::agent {

// REQUIRES: called once, on the main thread, before other threads exist.
Status RunWorker(const WorkerOptions& options);

// What the daemon would find about this node's GPUs, as one JSON document; the exit code.
int PrintGpus(const WorkerSettings& settings, std::ostream& out);

}  // namespace gp::agent

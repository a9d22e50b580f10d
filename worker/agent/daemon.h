// The daemon gp-worker: puts the parts together and runs the agent on the calling thread until
// SIGTERM or SIGINT.
#pragma once

#include <string>

#include "base/status.h"
#include "daemon/program.h"
#include "worker/agent/settings.h"

namespace gp::agent {

// REQUIRES: called once, on the main thread, before other threads exist.
Status RunWorker(const WorkerSettings& settings, const daemon::Runtime& runtime);

// For gp-worker --print-gpus: this node's GPUs, as the daemon would find them now, as one JSON
// document (GpusJson).
StatusOr<std::string> DescribeGpus(const WorkerSettings& settings);

}  // namespace gp::agent

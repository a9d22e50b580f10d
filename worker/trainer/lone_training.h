// Training without any control plane: one process, all logical shards, records and checkpoints in a
// directory of the user's. One call per process, from the main thread.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "contract/messages.h"
#include "plan/run_spec.h"

namespace gp::engine {

struct LoneOptions {
  std::string spec_path;
  std::vector<std::string> overrides;  // path=value
  std::string out_directory;           // empty: runs/<name of the run>
};

// The run file with its overrides; warnings go to standard error. TrainingError(kConfig) with every
// problem.
runspec::RunSpec LoadSpecFile(const LoneOptions& options);

// The threads in the run file, or one for each processor that this process may use.
int ThreadsOf(const runspec::RunSpec& spec);

// Prints on standard error what ended a training; returns the process's exit code.
int TellFailure(const link::Failed& failed);

// Trains to the end, from the newest checkpoint in the directory if there is one, and returns the
// process's exit code. SIGTERM and SIGINT save the last step and end it; the second one ends it at
// once.
int RunAlone(const LoneOptions& options, const Clock& clock);

}  // namespace gp::engine

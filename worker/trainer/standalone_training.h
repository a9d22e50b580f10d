// Training without a control plane: one process computes all logical shards, and writes records and
// checkpoints to a directory that the user chooses. One call per process, from the main thread.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "contract/messages.h"
#include "plan/run_spec.h"

namespace gp::engine {

struct StandaloneOptions {
  std::string spec_path;
  std::vector<std::string> overrides;  // path=value
  std::string out_directory;           // empty: runs/<name of the run>
};

// Returns the run file with its overrides; prints warnings on standard error. Throws
// TrainingError(kConfig) with every problem.
runspec::RunSpec LoadSpecFile(const StandaloneOptions& options);

// Returns the number of threads in the run file, or one per processor that this process may use.
int ThreadsOf(const runspec::RunSpec& spec);

// Prints on standard error why training failed; returns the process's exit code.
int PrintFailure(const link::Failed& failed);

// Trains to the end, from the newest checkpoint in the directory if there is one, and returns the
// process's exit code. SIGTERM or SIGINT saves the last step and ends training; a second signal
// exits at once.
int RunStandalone(const StandaloneOptions& options, const Clock& clock);

}  // namespace gp::engine

// ForkSource: the checkpoint that a fork begins from, with the run file that it was trained with. A
// value.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "client/gpctl/session/session.h"
#include "plan/training_start.h"

namespace gp::gpctl {

struct ForkSource {
  std::string text;       // "base@150", or the checkpoint's directory
  std::string run;        // "base"; the run's name in the manifest for a directory
  std::string run_id;     // empty: the service does not know the run
  std::string directory;  // of the checkpoint; absolute
  std::string run_file;   // resolved, of the leg that wrote it
  int64_t step = 0;
  int64_t tokens = 0;            // trained on up to that step; 0: unknown
  int64_t target_steps = 0;      // of that leg; 0: unknown
  runspec::TrainingStart start;  // where the counters of its run began
  bool superseded = false;       // a later leg began before its step
};

// REF is RUN, RUN@STEP, RUN@best, RUN@latest, or the directory of a checkpoint or of a run.
// NotFound as FindCheckpoint; InvalidArgument for a directory without a run file beside its
// checkpoints.
StatusOr<ForkSource> FindForkSource(const std::string& reference, Session& session);

}  // namespace gp::gpctl

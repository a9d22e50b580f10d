// The checkpoint of a known run that another run begins from, and where a run's counters begin.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/state/cluster.h"
#include "coordinator/store/store.h"
#include "plan/training_start.h"

namespace gp::coordinator {

struct ParentCheckpoint {
  RunId run;
  int leg = 0;
  int64_t step = 0;
  int64_t tokens = 0;  // that the weights were trained on up to that step; 0: unknown
};

// The sealed or superseded checkpoint in this directory, if its run is known. `store` has the run
// files of runs that have ended; DataLoss when it lacks this one.
StatusOr<std::optional<ParentCheckpoint>> FindParent(const Cluster& cluster, Store& store,
                                                     const std::string& directory);

// The step and the tokens that the run's counters begin with: those of its parent if it keeps the
// parent's position in the data, otherwise 0.
runspec::TrainingStart StartOf(const Submission& submission);

}  // namespace gp::coordinator

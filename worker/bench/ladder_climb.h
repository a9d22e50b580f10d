// Measures a rung: a few steps in a separate process, so that rungs do not share memory and a
// library's threads end with the process. One thread calls, before this process has threads.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "worker/bench/ladder_rungs.h"
#include "worker/bench/machine_limits.h"
#include "worker/bench/sample_summary.h"

namespace gp::engine {

struct LadderOptions {
  int steps = 3;  // measured steps, after one warm-up step (three on a device)
  int64_t peak_side = kPeakSide;
};

struct RungResult {
  std::string name;
  std::string setting;
  std::string reason;  // why the rung was not measured; then the numbers are 0
  SampleSummary step_ms;
  int64_t sequences = 0;  // sequences in a step
  int64_t threads = 0;
  double tokens_per_second = 0;
  int64_t resident_bytes = 0;  // peak of the process; on a device, what the backend allocated
  double mfu = 0;
  double gain = 1;   // speed relative to the last kept rung below
  double total = 1;  // speed relative to the first rung
  bool kept = true;  // false: slower here, so the next rung does without it
};

// The device of the process and its free memory. A child process queries it, because a process that
// has used a device cannot fork any more. InvalidArgument when there is none.
struct LadderDevice {
  std::string name;
  int64_t free_bytes = 0;
};
StatusOr<LadderDevice> FindLadderDevice();

// One result per rung, also for those that could not be measured; an error when no rung could.
StatusOr<std::vector<RungResult>> ClimbLadder(const ModelOptions& model,
                                              const LadderMachine& machine,
                                              const LadderOptions& options);

}  // namespace gp::engine

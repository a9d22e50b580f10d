// `gp-bench step`: our step, alone or in alternating blocks with a peer's, and the report of both.
// One thread calls.
#pragma once

#include <string>

#include "base/status.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

struct StepCommand {
  std::string model = "124M";
  ModelOptions options;
  int steps = 20;  // measured, of each side, after warm-up
  int warmup_steps = 3;
  int block_steps = 5;  // of one side before it is the other's turn
  std::string peer;     // "" | "torch"
  std::string python;   // "": .deps/peers beside the source tree, else python3
  bool json = false;
};

// Prints the report to stdout.
Status RunStepCommand(const StepCommand& command);

}  // namespace gp::engine

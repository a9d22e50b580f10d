// The ladder: the steps that the optimisation guides made famous, from a model as one writes it
// first to the engine at its best, each a change of the settings below it. Values and pure
// functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

// What a rung may change.
struct LadderSettings {
  ModelOptions model;
  bool fused_optimizer = true;
};

struct LadderRung {
  std::string name;
  std::string setting;                          // what it changes, as a run file would say it
  std::function<void(LadderSettings&)> change;  // absent: nothing to climb here
  std::string reason;                           // why not
  bool only_if_faster = false;  // a rung that the device may not reward: kept when it does
};

// What is known of the machine before the first rung.
struct LadderMachine {
  int cores = 1;
  int64_t memory_bytes = 0;         // that a model may take
  int64_t tokens_per_step_max = 0;  // so that a rung ends in a minute or so
  double fill_ms = 0;               // to put a micro-batch together
};

// The first rung is where the climb starts: the reference engine on one core, or on a device our
// own with nothing switched on. `model` gives shape, batch, kernels and the device.
LadderSettings LadderStart(const ModelOptions& model);
std::vector<LadderRung> MakeLadder(const ModelOptions& model, const LadderMachine& machine);

// The largest power of two of sequences that fits memory and time; at least options.micro_batch.
int64_t LargestBatch(ModelOptions options, const LadderMachine& machine);

}  // namespace gp::engine

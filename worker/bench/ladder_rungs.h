// The ladder: the steps of well-known optimisation guides, from a model without optimisation to the
// fastest engine. Each rung changes one setting of the last kept rung below. Values and pure
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
  std::string setting;                          // the setting that it changes, as in a run file
  std::function<void(LadderSettings&)> change;  // absent: the rung does not apply here
  std::string reason;                           // why it does not apply
  bool only_if_faster = false;  // the rung may be slower on this device; then it is not kept
};

// Properties of the machine that are known before the first rung.
struct LadderMachine {
  int cores = 1;
  int64_t memory_bytes = 0;         // memory for a model
  int64_t tokens_per_step_max = 0;  // limits a rung to about a minute
  double fill_ms = 0;               // time to make a micro-batch
};

// The settings of the first rung: the reference engine on one core, or on a device our engine with
// every optimisation off; fp32 on both. `model` gives shape, batch, kernels and the device.
LadderSettings LadderStart(const ModelOptions& model);
std::vector<LadderRung> MakeLadder(const ModelOptions& model, const LadderMachine& machine);

// options.micro_batch, doubled as often as memory and time allow.
int64_t LargestBatch(ModelOptions options, const LadderMachine& machine);

}  // namespace gp::engine

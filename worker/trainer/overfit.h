// Overfits a model on one batch, as a test for `gpctl doctor --overfit`: a correct program reaches
// a loss near zero. If it does not, the data, the model or the optimizer is broken. One call per
// process, from the main thread.
#pragma once

#include "base/clock.h"
#include "plan/run_spec.h"
#include "worker/trainer/standalone_training.h"

namespace gp::engine {

// Nats per token; below it the batch counts as learned.
inline constexpr double kOverfitLoss = 0.01;
inline constexpr int64_t kOverfitStepsMax = 1000;

// `spec` without settings that prevent learning one batch: dropout, weight decay, decay of the
// learning rate, a large batch, other ranks.
runspec::RunSpec ForOverfitting(runspec::RunSpec spec);

// Trains on one batch until the loss is below kOverfitLoss or kOverfitStepsMax is reached. Prints
// one JSON object per line on standard output: {"step", "loss", "grad_norm", "step_seconds"} after
// the first and every tenth step, {"learned", "step", "loss", "parameters", "tokens"} at the end.
// The exit code is 0 when the batch was learned.
int RunOverfit(const StandaloneOptions& options, const Clock& clock);

}  // namespace gp::engine

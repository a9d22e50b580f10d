// Overfitting on purpose: a model that is whole learns one batch by heart, so a loss that does not
// get near zero means that data, model or optimizer are broken. What `gpctl doctor --overfit` runs.
// One call per process, from the main thread.
#pragma once

#include "base/clock.h"
#include "runspec/run_spec.h"
#include "worker/engine/trainer/lone_training.h"

namespace gp::engine {

// Nats per token; below it the batch is known by heart.
inline constexpr double kOverfitLoss = 0.01;
inline constexpr int64_t kOverfitStepsMax = 1000;

// `spec` without what stands in the way of learning one batch: dropout, weight decay, decay of the
// learning rate, a large batch, other ranks.
runspec::RunSpec ForOverfitting(runspec::RunSpec spec);

// Trains on one batch until the loss is below kOverfitLoss or kOverfitStepsMax is reached. Prints
// one JSON object a line on standard output: {"step", "loss", "grad_norm", "step_seconds"} now and
// then, {"learned", "step", "loss", "parameters", "tokens"} at the end. The exit code is 0 when the
// batch was learned.
int RunOverfit(const LoneOptions& options, const Clock& clock);

}  // namespace gp::engine

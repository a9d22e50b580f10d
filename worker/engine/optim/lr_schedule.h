// The learning rate as a pure function of the step, so that resuming needs no state. Thread-safe.
#pragma once

#include <cstdint>

#include "plan/run_spec.h"

namespace gp::engine {

// The rate of update `step` (0 is the first), between spec.min_lr_ratio * lr and lr:
//   warm-up   lr * (step+1)/(warmup+1) (nanoGPT) or lr * (step+1)/warmup (build-nanogpt)
//   cosine    from the end of warm-up to decay_steps, the minimum afterwards
//   linear    the same along a line
//   wsd       constant, then along a line over the last fifth of decay_steps
//   constant  lr
// `budget_steps` replaces decay_steps = 0.
double LearningRate(const runspec::ScheduleSpec& spec, double lr, int64_t budget_steps,
                    int64_t step);

}  // namespace gp::engine

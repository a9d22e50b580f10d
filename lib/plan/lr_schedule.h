// The learning rate as a pure function of the step, so that resuming needs no state. Thread-safe.
#pragma once

#include <cstdint>

#include "plan/run_spec.h"

namespace gp::runspec {

// The rate of update `step` (0 is the first). While step < warmup_steps it rises, and may be below
// the minimum:
//   lr * (step+1)/(warmup+1) (WarmupForm::kNanoGpt) or lr * (step+1)/warmup (kBuildNanoGpt)
// Then it falls from lr to the minimum, spec.min_lr_ratio * lr, and stays there:
//   cosine    from the end of warm-up to decay_steps
//   linear    the same along a line
//   power     the same as linear to the power of spec.power: above 1 it falls sooner, below 1 later
//   wsd       lr, then along a line over the last fifth of decay_steps
//   constant  lr, no decay
// `budget_steps` replaces decay_steps = 0. Parts with a rate of their own multiply the result
// (Optimizer::Range::lr_ratio).
double LearningRate(const ScheduleSpec& spec, double lr, int64_t budget_steps, int64_t step);

}  // namespace gp::runspec

// RunBudget: when a run ends, and what the learning rate's schedule takes for its length. Steps and
// tokens are known from the start; a wall time becomes steps once, after calibration
// (step_budget.h). The same on every rank. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runspec/batch_plan.h"
#include "runspec/run_spec.h"
#include "worker/engine/trainer/step_budget.h"

namespace gp::engine {

class RunBudget {
 public:
  explicit RunBudget(const runspec::RunSpec& spec)
      : planned_steps_(runspec::TargetSteps(spec)), timed_(spec.budget.wall_time.count() > 0) {}

  // The steps that the wall time was turned into; 0 while that is unknown or there is none.
  int64_t timed_steps() const { return timed_steps_; }
  void set_timed_steps(int64_t steps) { timed_steps_ = steps; }

  // After `step` committed steps the wall time is to be turned into steps.
  bool NeedsCalibration(int64_t step) const {
    return timed_ && timed_steps_ == 0 && step >= kCalibrationSteps;
  }

  // The last step; 0 while unknown.
  int64_t target_steps() const {
    if (timed_steps_ == 0) return planned_steps_;
    return planned_steps_ == 0 ? timed_steps_ : std::min(planned_steps_, timed_steps_);
  }
  bool Done(int64_t step) const { return target_steps() > 0 && step >= target_steps(); }

  // For the update after `step` committed steps. Does not depend on whether the process that takes
  // it measured the budget or was told.
  int64_t ScheduleSteps(int64_t step) const {
    if (!timed_ || step >= kCalibrationSteps) return target_steps();
    return planned_steps_ == 0 ? kUnknownSteps : planned_steps_;
  }

 private:
  const int64_t planned_steps_;
  const bool timed_;
  int64_t timed_steps_ = 0;
};

}  // namespace gp::engine

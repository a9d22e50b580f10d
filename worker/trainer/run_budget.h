// RunBudget: decides when a run ends, and which length the learning rate's schedule uses. Steps and
// tokens are known from the start. A wall time is converted to steps once, after calibration
// (step_budget.h). An early stop is not known in advance, and no schedule depends on it. The same
// on every rank. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/run_spec.h"
#include "runspec/batch_plan.h"
#include "worker/engine/step/early_stop.h"
#include "worker/engine/step/step_budget.h"

namespace gp::engine {

class RunBudget {
 public:
  explicit RunBudget(const runspec::RunSpec& spec, const runspec::TrainingStart& start = {})
      : planned_steps_(runspec::TargetSteps(spec, start)),
        timed_(spec.budget.wall_time.count() > 0),
        on_best_(spec.checkpoint.on_best),
        early_stop_(spec.eval) {}

  // The result of converting the wall time; 0 steps while it is unknown, or when there is no wall
  // time.
  const StepBudget& timed() const { return timed_steps_; }
  // Has no effect on a run without a wall time: the leg before may have had one.
  void set_timed(const StepBudget& budget) {
    if (timed_) timed_steps_ = budget;
  }

  // Whether, after `step` committed steps, the wall time still has to be converted to steps.
  bool NeedsCalibration(int64_t step) const {
    return timed_ && timed_steps_.steps == 0 && step >= kCalibrationSteps;
  }

  // The last step; 0 while unknown.
  int64_t target_steps() const {
    const int64_t timed = timed_steps_.steps;
    if (timed == 0 || planned_steps_ == 0) return std::max(timed, planned_steps_);
    return std::min(planned_steps_, timed);
  }
  bool Done(int64_t step) const {
    return early_stop_.stopped() || (target_steps() > 0 && step >= target_steps());
  }

  // Whether an evaluation that improves the validation loss matters, so that the best one is kept
  // in checkpoints.
  bool follows_best() const { return on_best_ || early_stop_.enabled(); }

  EarlyStop& early_stop() { return early_stop_; }
  const EarlyStop& early_stop() const { return early_stop_; }

  // The schedule's length for the update after `step` committed steps. It is the same for the
  // process that measured the budget and for one that read it.
  int64_t ScheduleSteps(int64_t step) const {
    const bool fixed = timed_steps_.steps > 0 && step >= timed_steps_.measured_steps;
    if (!timed_ || fixed) return target_steps();
    return planned_steps_ == 0 ? kUnknownSteps : planned_steps_;
  }

 private:
  int64_t planned_steps_;
  bool timed_;
  bool on_best_;  // checkpoint.on_best
  StepBudget timed_steps_;
  EarlyStop early_stop_;
};

}  // namespace gp::engine

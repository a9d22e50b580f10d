// The number of steps of a run whose budget is a wall time: measured over the first steps and then
// fixed, so that the schedule and every later resume depend only on the step. Pure functions.
#pragma once

#include <cstdint>

namespace gp::engine {

// The budget is fixed once at least this many steps are done and at least this part of the wall
// time has passed. Until then schedules use kUnknownSteps.
inline constexpr int64_t kCalibrationSteps = 12;
inline constexpr double kCalibrationShare = 0.05;
inline constexpr int64_t kUnknownSteps = int64_t{1} << 40;

// A wall time converted to steps. Updates before `measured_steps` use the schedule of a run without
// end, even if `steps` is known, so that a process that repeats them computes the same.
struct StepBudget {
  int64_t steps = 0;           // 0: not known yet
  int64_t measured_steps = 0;  // steps after which it was fixed

  bool operator==(const StepBudget&) const = default;
};

struct WallTimeMeasurement {
  double wall_time_seconds = 0;  // the budget
  // Time that the run has trained until the measurement: the steps of earlier processes, and all
  // that this process did.
  double elapsed_seconds = 0;
  int64_t steps_done = 0;    // including those of earlier processes
  int64_t steps_before = 0;  // those of earlier processes
  int64_t steps_timed = 0;   // those of this process without its first, slower ones
  double step_seconds = 0;   // mean time of one step of this process, with a full batch
  // The time of one evaluation, and the number of steps between two; one always follows the last
  // step.
  double evaluation_seconds = 0;
  int64_t evaluation_every = 0;  // 0: only the last one
  double task_seconds = 0;       // the same for the questions of eval.tasks
  int64_t task_every = 0;
  double sample_seconds = 0;
  int64_t sample_every = 0;  // 0: never
};

// Whether enough was measured, or the time is used up.
bool CalibrationIsDue(const WallTimeMeasurement& measured);

// The steps that fit into the wall time, with those already done: at least steps_done + 1.
int64_t StepsWithin(const WallTimeMeasurement& measured);

}  // namespace gp::engine

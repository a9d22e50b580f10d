// The number of steps of a run whose budget is a wall time: measured over the first steps, then
// fixed for good, so that the schedule and every later resume depend on the step alone. Pure
// functions.
#pragma once

#include <cstdint>

namespace gp::engine {

// Steps that are measured before the budget is fixed. Until then schedules see kUnknownSteps.
inline constexpr int64_t kCalibrationSteps = 12;
inline constexpr int64_t kUnknownSteps = int64_t{1} << 40;

struct WallTimeMeasurement {
  double wall_time_seconds = 0;  // the budget
  double elapsed_seconds = 0;    // since training began, calibration included
  int64_t steps_done = 0;
  double step_seconds = 0;  // of one step
  // One evaluation, and the steps between two; the last one comes after the last step.
  double evaluation_seconds = 0;
  int64_t evaluation_every = 0;  // 0: only that one
  double sample_seconds = 0;
  int64_t sample_every = 0;  // 0: never
};

// The steps that fit, those done included: at least steps_done + 1.
int64_t StepsWithin(const WallTimeMeasurement& measured);

}  // namespace gp::engine

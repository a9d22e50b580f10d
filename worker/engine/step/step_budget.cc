#include "worker/engine/step/step_budget.h"

#include <algorithm>
#include <cmath>

namespace gp::engine {

bool CalibrationIsDue(const WallTimeMeasurement& measured) {
  const bool used_up = measured.elapsed_seconds >= measured.wall_time_seconds;
  return measured.steps_done >= kCalibrationSteps &&
         measured.elapsed_seconds >= kCalibrationShare * measured.wall_time_seconds &&
         (measured.steps_timed > 0 || used_up);
}

int64_t StepsWithin(const WallTimeMeasurement& measured) {
  double between_seconds = 0;  // evaluations and samples, for each step
  if (measured.evaluation_every > 0) {
    between_seconds += measured.evaluation_seconds / static_cast<double>(measured.evaluation_every);
  }
  if (measured.task_every > 0) {
    between_seconds += measured.task_seconds / static_cast<double>(measured.task_every);
  }
  if (measured.sample_every > 0) {
    between_seconds += measured.sample_seconds / static_cast<double>(measured.sample_every);
  }
  const double left = measured.wall_time_seconds - measured.elapsed_seconds -
                      static_cast<double>(measured.steps_before) * between_seconds -
                      measured.evaluation_seconds - measured.task_seconds;
  const double seconds_per_step = std::max(measured.step_seconds, 1e-6) + between_seconds;
  const auto more = static_cast<int64_t>(std::floor(left / seconds_per_step));
  return measured.steps_done + std::max<int64_t>(more, 1);
}

}  // namespace gp::engine

#include "worker/engine/step/step_budget.h"

#include <algorithm>
#include <cmath>

namespace gp::engine {

bool CalibrationIsDue(const WallTimeMeasurement& measured) {
  return measured.steps_done >= kCalibrationSteps &&
         measured.elapsed_seconds >= kCalibrationShare * measured.wall_time_seconds;
}

int64_t StepsWithin(const WallTimeMeasurement& measured) {
  double seconds_per_step = std::max(measured.step_seconds, 1e-6);
  if (measured.evaluation_every > 0) {
    seconds_per_step +=
        measured.evaluation_seconds / static_cast<double>(measured.evaluation_every);
  }
  if (measured.task_every > 0) {
    seconds_per_step += measured.task_seconds / static_cast<double>(measured.task_every);
  }
  if (measured.sample_every > 0) {
    seconds_per_step += measured.sample_seconds / static_cast<double>(measured.sample_every);
  }
  const double left = measured.wall_time_seconds - measured.elapsed_seconds -
                      measured.evaluation_seconds - measured.task_seconds;
  const auto more = static_cast<int64_t>(std::floor(left / seconds_per_step));
  return measured.steps_done + std::max<int64_t>(more, 1);
}

}  // namespace gp::engine

#include "client/api/time_left.h"

namespace gp::client {

double SecondsLeft(const v1::Progress& progress) {
  const int64_t steps = progress.target_steps() - progress.step();
  if (progress.target_steps() <= 0 || steps < 0) return -1;
  if (steps == 0) return 0;
  if (progress.pace_seconds() < 0) return -1;
  // Older coordinators send no pace, only the time of the last step.
  const double pace =
      progress.pace_seconds() > 0 ? progress.pace_seconds() : progress.step_seconds();
  return pace > 0 ? static_cast<double>(steps) * pace : -1;
}

}  // namespace gp::client

#include "plan/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gp::runspec {
namespace {

double WarmupRate(const ScheduleSpec& spec, double lr, int64_t step) {
  const int64_t divisor = spec.warmup_steps + (spec.warmup_form == WarmupForm::kNanoGpt ? 1 : 0);
  return lr * static_cast<double>(step + 1) / static_cast<double>(divisor);
}

// The fraction of the way from `first` to `last` at `step`, in [0, 1].
double Progress(int64_t step, int64_t first, int64_t last) {
  if (step >= last) return 1;
  return std::max(0.0, static_cast<double>(step - first) / static_cast<double>(last - first));
}

}  // namespace

double LearningRate(const ScheduleSpec& spec, double lr, int64_t budget_steps, int64_t step) {
  if (step < spec.warmup_steps) return WarmupRate(spec, lr, step);
  const int64_t decay_steps = spec.decay_steps > 0 ? spec.decay_steps : budget_steps;
  const double lowest = lr * spec.min_lr_ratio;
  switch (spec.kind) {
    case ScheduleKind::kConstant:
      return lr;
    case ScheduleKind::kCosine: {
      const double progress = Progress(step, spec.warmup_steps, decay_steps);
      return lowest + 0.5 * (1 + std::cos(std::numbers::pi * progress)) * (lr - lowest);
    }
    case ScheduleKind::kLinear:
      return lr - Progress(step, spec.warmup_steps, decay_steps) * (lr - lowest);
    case ScheduleKind::kPower: {
      const double left = 1 - Progress(step, spec.warmup_steps, decay_steps);
      return lowest + std::pow(left, spec.power) * (lr - lowest);
    }
    case ScheduleKind::kWsd: {
      const int64_t first = std::max(spec.warmup_steps, decay_steps - decay_steps / 5);
      return lr - Progress(step, first, decay_steps) * (lr - lowest);
    }
  }
  return lr;
}

}  // namespace gp::runspec

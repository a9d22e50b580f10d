#include "worker/engine/step/divergence_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gp::engine {

using runspec::OnDivergence;

double DivergenceGuard::LossLimit() const {
  if (spec_.spike_sigma <= 0 || state_.losses < kWindow) {
    return std::numeric_limits<double>::infinity();
  }
  return state_.mean + spec_.spike_sigma * Deviation();
}

double DivergenceGuard::Deviation() const {
  return std::max(std::sqrt(state_.variance), kDeviationMin);
}

bool DivergenceGuard::Ends(StepVerdict verdict) const {
  if (verdict == StepVerdict::kSound) return false;
  if (spec_.on_divergence != OnDivergence::kSkip) return true;
  if (verdict == StepVerdict::kNotFinite && !spec_.skip_nonfinite) return true;
  return state_.skips_in_a_row >= spec_.consecutive_skips_max;
}

std::string DivergenceGuard::Describe(int64_t step, StepVerdict verdict, double loss,
                                      double gradient_norm) const {
  if (verdict == StepVerdict::kNotFinite) {
    return fmt::format(
        "step {}: the loss or its gradient is not finite (loss {}, gradient norm {})", step, loss,
        gradient_norm);
  }
  return fmt::format(
      "step {}: the loss {:.4g} is {:.1f} standard deviations above the mean {:.4g} of the recent "
      "losses (stability.spike_sigma: {:g})",
      step, loss, (loss - state_.mean) / Deviation(), state_.mean, spec_.spike_sigma);
}

void DivergenceGuard::Observe(int64_t step, StepVerdict verdict, double loss) {
  if (verdict != StepVerdict::kSound) {
    ++state_.skips_in_a_row;
    state_.skipped.Add(step, step);
    return;
  }
  state_.skips_in_a_row = 0;
  if (spec_.spike_sigma <= 0) return;
  // The plain mean and variance of the first losses, then an exponential mean.
  const double weight = 1 / static_cast<double>(std::min(++state_.losses, kWindow));
  const double distance = loss - state_.mean;
  state_.mean += weight * distance;
  state_.variance = (1 - weight) * (state_.variance + weight * distance * distance);
}

}  // namespace gp::engine

#include "worker/engine/step/loss_scale.h"

#include <cmath>

namespace gp::engine {

bool LossScale::Observe(bool finite) {
  if (!finite) {
    const bool is_to_blame = state_.scale > kLeast;
    state_ = {.scale = state_.scale / 2, .finite_steps = 0};
    if (!is_to_blame) state_.scale = kLeast;
    return is_to_blame;
  }
  if (++state_.finite_steps < kGrowthInterval) return false;
  const double grown = 2 * state_.scale;
  if (std::isfinite(static_cast<float>(grown))) state_.scale = grown;
  state_.finite_steps = 0;
  return false;
}

}  // namespace gp::engine

#include "worker/engine/step/early_stop.h"

#include <fmt/format.h>

namespace gp::engine {

bool EarlyStop::Observe(int64_t step, double loss) {
  // NaN is not an improvement.
  if (loss < state_.best_loss - min_delta_) {
    state_ = {.best_loss = loss, .best_step = step};
    return true;
  }
  ++state_.waited;
  return false;
}

std::string EarlyStop::Reason() const {
  return fmt::format(
      "stopped early: {} evaluation{} in a row did not improve the validation loss {:.4f} of step "
      "{}{}",
      state_.waited, state_.waited == 1 ? "" : "s", state_.best_loss, state_.best_step,
      min_delta_ > 0 ? fmt::format(" by more than {:g}", min_delta_) : "");
}

}  // namespace gp::engine

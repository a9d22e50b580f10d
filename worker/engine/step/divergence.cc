#include "worker/engine/step/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gp::engine {

Divergence::Divergence(int64_t vocabulary)
    : vocabulary_(vocabulary), limit_(std::log(static_cast<double>(vocabulary)) + kMarginNats) {}

std::optional<std::string> Divergence::Observe(int64_t step, double loss,
                                               std::optional<double> validation_loss) {
  // One step that is not finite, or wild, moves the mean a little.
  const double bounded = std::isfinite(loss) ? std::min(loss, 10 * limit_) : 10 * limit_;
  mean_loss_ = steps_ == 0 ? bounded : mean_loss_ + kSmoothing * (bounded - mean_loss_);
  if (++steps_ <= kStepsBefore) return std::nullopt;
  if (validation_loss) return Judge(*validation_loss, "validation loss", *validation_loss, step);
  return Judge(mean_loss_, "training loss", loss, step);
}

// A loss that is not a number is above every limit.
std::optional<std::string> Divergence::Judge(double judged, const char* what, double loss,
                                             int64_t step) {
  const bool high = !(judged <= limit_);
  const bool fresh = high && !diverged_;
  diverged_ = high;
  if (!fresh) return std::nullopt;
  return fmt::format(
      "diverged: the {} {:.4g} at step {} is far above ln({}) = {:.4g}, that of a uniform guess; "
      "lower optimizer.lr, or set optimizer.grad_clip",
      what, loss, step, vocabulary_, limit_ - kMarginNats);
}

}  // namespace gp::engine

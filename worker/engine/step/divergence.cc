#include "worker/engine/step/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "contract/divergence_warning.h"

namespace gp::engine {

Divergence::Divergence(int64_t vocabulary)
    : vocabulary_(vocabulary), uniform_(std::log(static_cast<double>(vocabulary))) {}

std::optional<std::string> Divergence::Observe(int64_t step, double loss,
                                               std::optional<double> validation_loss, bool last) {
  // The loss is bounded, so that one huge or non-finite value moves the mean only a little.
  const double most = 2 * (uniform_ + kMarginNats);
  const double bounded = std::isfinite(loss) ? std::min(loss, most) : most;
  mean_loss_ = steps_ == 0 ? bounded : mean_loss_ + kSmoothing * (bounded - mean_loss_);
  const bool settled = ++steps_ > kStepsBefore || last;
  if (validation_loss) {
    const Judged judged{"validation loss", *validation_loss, *validation_loss, best_validation_};
    const bool first = validations_++ == 0;
    return settled || !first ? Judge(judged, step) : std::nullopt;
  }
  if (!settled) return std::nullopt;
  return Judge({"training loss", mean_loss_, loss, best_mean_}, step);
}

// Training counts as diverged above this loss: half of the gain over a uniform guess is lost, but
// not less than kMarginNats.
double Divergence::LimitAfter(double best) const {
  const double above_best = best + std::max(kMarginNats, 0.5 * (uniform_ - best));
  return std::min(uniform_ + kMarginNats, above_best);
}

// NaN counts as above every limit.
std::optional<std::string> Divergence::Judge(const Judged& judged, int64_t step) {
  const double best = judged.best;
  const bool high = !(judged.value <= LimitAfter(best));
  if (judged.value < best) judged.best = judged.value;
  if (high == diverged_) return std::nullopt;
  diverged_ = high;
  if (!high) {
    why_.clear();
    return fmt::format("recovered: the {} {:.4g} at step {} is low again", judged.what, judged.loss,
                       step);
  }
  const bool worse_than_guess = !(judged.value <= uniform_ + kMarginNats);
  const std::string reference =
      worse_than_guess
          ? fmt::format("ln({}) = {:.4g}, that of a uniform guess", vocabulary_, uniform_)
          : fmt::format("{:.4g}, its lowest value", best);
  why_ = fmt::format(
      "{}the {} {:.4g} at step {} is far above {}; lower optimizer.lr, or set "
      "optimizer.grad_clip",
      contract::kDivergedPrefix, judged.what, judged.loss, step, reference);
  return why_;
}

}  // namespace gp::engine

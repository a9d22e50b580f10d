// Divergence: notices that a training's loss is far above that of a uniform guess, ln(vocabulary),
// long after its start. Rank 0 has one; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gp::engine {

class Divergence {
 public:
  static constexpr double kMarginNats = 1;      // above ln(vocabulary)
  static constexpr int64_t kStepsBefore = 100;  // of this process, which may begin with high losses
  static constexpr double kSmoothing = 1.0 / 32;  // weight of a step's loss in the running mean

  explicit Divergence(int64_t vocabulary);

  // Losses after `step`, in nats. A warning when the validation loss, or the running mean of the
  // training loss, has become that high; once until a later one is low again.
  std::optional<std::string> Observe(int64_t step, double loss,
                                     std::optional<double> validation_loss);

 private:
  // The message names `loss`.
  std::optional<std::string> Judge(double judged, const char* what, double loss, int64_t step);

  const int64_t vocabulary_;
  const double limit_;
  double mean_loss_ = 0;
  int64_t steps_ = 0;
  bool diverged_ = false;
};

}  // namespace gp::engine

// Divergence: detects that the loss is far above that of a uniform guess, ln(vocabulary), or far
// above its own best: over many steps, unlike the steps that DivergenceGuard finds. On rank 0; one
// thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace gp::engine {

class Divergence {
 public:
  static constexpr double kMarginNats = 1;        // above ln(vocabulary)
  static constexpr int64_t kStepsBefore = 100;    // not judged: losses may be high at first
  static constexpr double kSmoothing = 1.0 / 32;  // weight of a step's loss in the running mean

  explicit Divergence(int64_t vocabulary);

  // Losses after `step`, in nats; `last`: the run ends with it, so it is judged in any case. A
  // warning, "diverged: …", when the validation loss, or the running mean of the training loss, has
  // become that high; and one, "recovered: …", when it is low again.
  std::optional<std::string> Observe(int64_t step, double loss,
                                     std::optional<double> validation_loss, bool last);

  // The newest warning, "diverged: …", while the loss is that high; else empty.
  const std::string& why() const { return why_; }

 private:
  struct Judged {
    const char* what;
    double value = 0;  // compared with the limit
    double loss = 0;   // named in the message
    double& best;      // the lowest value so far
  };

  double LimitAfter(double best) const;
  std::optional<std::string> Judge(const Judged& judged, int64_t step);

  const int64_t vocabulary_;
  const double uniform_;  // ln(vocabulary)
  double mean_loss_ = 0;
  double best_mean_ = std::numeric_limits<double>::infinity();
  double best_validation_ = std::numeric_limits<double>::infinity();
  int64_t steps_ = 0;
  int64_t validations_ = 0;
  bool diverged_ = false;
  std::string why_;
};

}  // namespace gp::engine

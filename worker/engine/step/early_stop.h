// EarlyStop: ends a run whose validation loss no longer improves (run file: eval.patience,
// eval.min_delta). It depends only on the losses, so every rank decides the same, also after a
// resume from a checkpoint. One thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "plan/run_spec.h"

namespace gp::engine {

// The state; saved with every checkpoint if eval.patience is set.
struct EarlyStopState {
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t best_step = 0;  // 0: no finite loss yet
  int64_t waited = 0;     // evaluations since then without an improvement

  bool operator==(const EarlyStopState&) const = default;
};

class EarlyStop {
 public:
  explicit EarlyStop(const runspec::EvalSpec& spec)
      : patience_(spec.patience), min_delta_(spec.min_delta) {}

  bool enabled() const { return patience_ > 0; }

  // Takes the `loss`, in nats, of an evaluation after `step` committed steps. True when it is the
  // best so far by more than min_delta.
  bool Observe(int64_t step, double loss);

  // True when the run should end.
  bool stopped() const { return enabled() && state_.waited >= patience_; }

  // The reason, in a sentence. REQUIRES: stopped().
  std::string Reason() const;

  // Counts evaluations without an improvement from 0 again: another leg of the run begins.
  void BeginLeg() { state_.waited = 0; }

  const EarlyStopState& state() const { return state_; }
  void Restore(const EarlyStopState& state) { state_ = state; }

 private:
  int64_t patience_;
  double min_delta_;
  EarlyStopState state_;
};

}  // namespace gp::engine

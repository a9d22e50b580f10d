// PhaseTimer: divides a step's wall time into disjoint phases whose sum is the step. Lives for one
// step; one thread.
#pragma once

#include "base/clock.h"
#include "contract/training_point.h"

namespace gp::engine {

class PhaseTimer {
 public:
  explicit PhaseTimer(const Clock& clock) : clock_(clock), start_(clock.Now()), last_(start_) {}

  // The time since the last call, or since construction, belongs to `phase`.
  void Lap(double contract::StepPhases::*phase) {
    const MonotonicTime now = clock_.Now();
    phases_.*phase += Seconds(now - last_);
    last_ = now;
  }

  const contract::StepPhases& phases() const { return phases_; }
  // The time from construction to the last Lap, which is the sum of the phases.
  double seconds() const { return Seconds(last_ - start_); }

 private:
  static double Seconds(std::chrono::nanoseconds duration) {
    return std::chrono::duration<double>(duration).count();
  }

  const Clock& clock_;
  const MonotonicTime start_;
  MonotonicTime last_;
  contract::StepPhases phases_;
};

}  // namespace gp::engine

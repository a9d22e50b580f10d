// DivergenceGuard: decides which steps have diverged (stability.on_divergence): their loss or
// gradient is not finite, or their loss is a spike, far above the mean of the recent ones. It
// depends only on numbers that all ranks share, and its state is part of a checkpoint, so every
// rank decides the same, also after a resume. A value; one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "plan/run_spec.h"
#include "worker/engine/step/skipped_steps.h"

namespace gp::engine {

enum class StepVerdict { kSound, kNotFinite, kSpike };

class DivergenceGuard {
 public:
  // The mean and the deviation are those of about so many losses. As many come before the first
  // verdict.
  static constexpr int64_t kWindow = 64;
  // In nats; a smaller standard deviation counts as this one, so that a loss that hardly changes
  // has no spikes.
  static constexpr double kDeviationMin = 0.01;

  struct State {
    // Of the losses of sound steps; followed only with stability.spike_sigma.
    int64_t losses = 0;
    double mean = 0;      // nats per token
    double variance = 0;  // nats^2
    int64_t skips_in_a_row = 0;
    SkippedSteps skipped;

    bool operator==(const State&) const = default;
  };

  explicit DivergenceGuard(const runspec::StabilitySpec& spec) : spec_(spec) {}

  // The next step's loss is a spike above this one.
  double LossLimit() const;

  // Whether a step with this verdict ends the attempt; otherwise it is skipped.
  bool Ends(StepVerdict verdict) const;
  // Why the step diverged, in a sentence that begins with its number, from the state before the
  // step is observed.
  std::string Describe(int64_t step, StepVerdict verdict, double loss, double gradient_norm) const;

  // Call it after each step, with its loss, unless the step ends the attempt.
  void Observe(int64_t step, StepVerdict verdict, double loss);

  const State& state() const { return state_; }
  void Restore(const State& state) { state_ = state; }

 private:
  double Deviation() const;

  const runspec::StabilitySpec& spec_;
  State state_;
};

}  // namespace gp::engine

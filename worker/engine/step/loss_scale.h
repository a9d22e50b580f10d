// LossScale: the factor that keeps fp16 gradients above fp16's smallest number, by the rule of
// torch.amp.GradScaler: doubled after 2000 finite steps in a row, halved by a step whose gradient
// overflowed. Its state is part of a checkpoint. A value; one thread.
#pragma once

#include <cstdint>

namespace gp::engine {

class LossScale {
 public:
  struct State {
    double scale = 65536;
    int64_t finite_steps = 0;  // in a row, since the scale last changed

    bool operator==(const State&) const = default;
  };

  static constexpr int64_t kGrowthInterval = 2000;
  // At this scale or below, the scale is not the reason for a gradient that is not finite.
  static constexpr double kLeast = 1;

  float value() const { return static_cast<float>(state_.scale); }
  const State& state() const { return state_; }
  void Restore(const State& state) { state_ = state; }

  // Call it after each step. True when the step probably overflowed only because of the scale: then
  // the step is skipped, and this is not an error.
  bool Observe(bool finite);

 private:
  State state_;
};

}  // namespace gp::engine

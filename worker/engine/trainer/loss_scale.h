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
  // Below this no scale is to blame for a gradient that is not finite.
  static constexpr double kLeast = 1;

  float value() const { return static_cast<float>(state_.scale); }
  const State& state() const { return state_; }
  void Restore(const State& state) { state_ = state; }

  // After each step. True when the step overflowed because of the scale alone, as far as one can
  // tell: it is to be skipped, and is nobody's mistake.
  bool Observe(bool finite);

 private:
  State state_;
};

}  // namespace gp::engine

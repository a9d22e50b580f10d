// TimedSaves: when checkpoint.every is auto, the state is saved about every ten minutes, and less
// often where a save blocks the training for long. Rank 0 has one; one thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace gp::engine {

class TimedSaves {
 public:
  static constexpr std::chrono::minutes kInterval{10};
  static constexpr int kIntervalsOfCost = 50;  // saves block training at most 1/50 of the time

  explicit TimedSaves(MonotonicTime start) : last_(start) {}

  // `held_up`: how long the newest save blocked the training (Checkpoints::held_up).
  bool IsDue(MonotonicTime now, std::chrono::nanoseconds held_up) const {
    return now - last_ >= std::max<std::chrono::nanoseconds>(kInterval, kIntervalsOfCost * held_up);
  }
  // A save began, whether it was due or not.
  void Began(MonotonicTime now) { last_ = now; }

 private:
  MonotonicTime last_;
};

}  // namespace gp::engine

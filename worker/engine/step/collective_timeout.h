// CollectiveTimeout: how long a rank waits for its peers in a step before it treats one as hung.
// Ranks do the same work at the same time, so a peer that is late by many step times is stuck,
// except right after work that only some ranks do. Owned by TrainingLoop; one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace gp::engine {

class CollectiveTimeout {
 public:
  // For work without a known time: joining, evaluation, samples, checkpoints.
  static constexpr std::chrono::milliseconds kLong = std::chrono::minutes(10);
  // The shortest limit. A machine may stall a rank for this long: storage, swapping, a debugger.
  static constexpr std::chrono::milliseconds kShortest = std::chrono::minutes(2);
  static constexpr double kSteps = 20;

  void StepTook(double seconds);

  // Call this when the ranks did other work after the last step.
  void Interrupted() { interrupted_ = true; }

  // The limit for the step that begins now: kLong after an interruption and until some step times
  // are known, otherwise kSteps times their median, but at least kShortest.
  std::chrono::milliseconds ForStep();

 private:
  static constexpr size_t kKnownMin = 5;
  static constexpr size_t kKnownMax = 31;

  std::vector<double> seconds_;  // times of the last steps; when full, the oldest is at next_
  size_t next_ = 0;
  bool interrupted_ = false;
};

}  // namespace gp::engine

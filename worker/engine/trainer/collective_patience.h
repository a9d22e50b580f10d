// CollectivePatience: how long a rank waits for its peers inside a step before it takes one for
// hung. Ranks do the same work at the same time, so a peer that is many steps late is stuck, except
// right after work that only some of them do. Owned by the training; one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace gp::engine {

class CollectivePatience {
 public:
  // For what takes as long as it takes: joining, evaluation, samples, checkpoints.
  static constexpr std::chrono::milliseconds kLong = std::chrono::minutes(10);
  // A rank may stall for this long for reasons of its machine: storage, swapping, a debugger.
  static constexpr std::chrono::milliseconds kShortest = std::chrono::minutes(2);
  static constexpr double kSteps = 20;

  void StepTook(double seconds);

  // The ranks did something else since the last step.
  void Interrupted() { interrupted_ = true; }

  // For the step that begins now: kLong until some steps are known and after an interruption,
  // otherwise kSteps times their median, and kShortest at least.
  std::chrono::milliseconds ForStep();

 private:
  static constexpr size_t kKnownMin = 5;
  static constexpr size_t kKnownMax = 31;

  std::vector<double> seconds_;  // times of the last steps; when full, the oldest is at next_
  size_t next_ = 0;
  bool interrupted_ = false;
};

}  // namespace gp::engine

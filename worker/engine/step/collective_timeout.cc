#include "worker/engine/step/collective_timeout.h"

#include <algorithm>
#include <utility>

namespace gp::engine {

void CollectiveTimeout::StepTook(double seconds) {
  if (seconds_.size() < kKnownMax) {
    seconds_.push_back(seconds);
    return;
  }
  seconds_[next_] = seconds;
  next_ = (next_ + 1) % kKnownMax;
}

std::chrono::milliseconds CollectiveTimeout::ForStep() {
  if (std::exchange(interrupted_, false) || seconds_.size() < kKnownMin) return kLong;
  std::vector<double> sorted = seconds_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const std::chrono::duration<double> enough(kSteps * *middle);
  return std::max(kShortest, std::chrono::duration_cast<std::chrono::milliseconds>(enough));
}

}  // namespace gp::engine

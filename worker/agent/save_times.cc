#include "worker/agent/save_times.h"

#include <algorithm>

namespace gp::agent {
namespace {

// The most steps kept: more than are taken during one save. At 1 ms a step they take four seconds,
// and a model with such short steps is saved in less.
constexpr size_t kStepsMax = 4096;

}  // namespace

void SaveTimes::StepCommitted(int64_t step, MonotonicTime at) {
  if (steps_.size() == kStepsMax) steps_.pop_front();
  steps_.emplace_back(step, at);
}

std::optional<double> SaveTimes::Written(int64_t step, MonotonicTime at) const {
  const auto found = std::find_if(steps_.rbegin(), steps_.rend(),
                                  [&](const auto& entry) { return entry.first == step; });
  if (found == steps_.rend()) return std::nullopt;
  return std::chrono::duration<double>(at - found->second).count();
}

}  // namespace gp::agent

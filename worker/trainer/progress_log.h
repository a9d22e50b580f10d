// ProgressLog: writes the log lines that show people the progress of a training: loss and remaining
// time, at intervals. Rank 0 only. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "contract/training_point.h"

namespace gp::engine {

class ProgressLog {
 public:
  // At most one line per `interval`, but always one for the first step, for each evaluation and for
  // the last step.
  ProgressLog(const Clock& clock, std::chrono::nanoseconds interval)
      : clock_(clock), interval_(interval) {}

  // `target_steps` is 0 while unknown.
  void Add(const contract::TrainingPoint& point, int64_t target_steps);

 private:
  const Clock& clock_;
  const std::chrono::nanoseconds interval_;
  std::optional<MonotonicTime> last_line_;
};

// A warning when the first loss of a fresh model differs from ln(vocabulary) by more than 0.5.
std::optional<std::string> FirstLossWarning(double loss, int64_t vocabulary);

}  // namespace gp::engine

// The difference of two checkpoints' losses on the same windows of text. Windows differ in how hard
// they are; pairs do not, so a much smaller difference can be seen. Pure function; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"

namespace gp::gpctl {

// One batch of windows, as gp-evaluator measures it.
struct WindowLoss {
  int64_t tokens = 0;
  double nats = 0;  // the sum over the tokens
};

struct PairedDifference {
  int64_t windows = 0;
  int64_t tokens = 0;
  double first = 0;  // the loss of the first checkpoint, nats per token
  double second = 0;
  double difference = 0;  // second - first
  // Of the difference, as if the windows were independent; absent for one window.
  std::optional<double> standard_error;

  // Whether the difference is more than two standard errors from 0.
  bool is_clear() const;
};

// FailedPrecondition when the windows are not the same: other numbers of them or of their tokens.
StatusOr<PairedDifference> ComparePairs(const std::vector<WindowLoss>& first,
                                        const std::vector<WindowLoss>& second);

}  // namespace gp::gpctl

// ValidationWindows: a split cut into consecutive, non-overlapping windows for evaluation, in
// batches of one shape. Constant after construction; any thread may call.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "worker/data/token_source.h"

namespace gp::engine {

class ValidationWindows {
 public:
  // Batches of `rows` windows of `sequence` tokens; all of them, or the first `batches_max` when it
  // is not 0. `tokens` must outlive this object. InvalidArgument when the split has fewer than 2
  // tokens.
  static StatusOr<ValidationWindows> Make(const TokenSource& tokens, int64_t rows, int64_t sequence,
                                          int64_t batches_max);

  int64_t batch_count() const { return batch_count_; }
  // Targets in all batches together: over a whole split of n tokens, n - 1. The divisor of the mean
  // loss.
  int64_t target_count() const { return target_count_; }

  // Fills batch `index`, (rows, sequence) each. Where the split ends early, tokens are 0 and
  // targets -1.
  Status Fill(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets) const;

 private:
  ValidationWindows(const TokenSource& tokens, int64_t rows, int64_t sequence)
      : tokens_(&tokens), rows_(rows), sequence_(sequence) {}

  const TokenSource* tokens_;
  int64_t rows_;
  int64_t sequence_;
  int64_t batch_count_ = 0;
  int64_t target_count_ = 0;
};

}  // namespace gp::engine

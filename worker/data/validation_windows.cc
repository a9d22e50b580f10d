#include "worker/data/validation_windows.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace gp::engine {

StatusOr<ValidationWindows> ValidationWindows::Make(const TokenSource& tokens, int64_t rows,
                                                    int64_t sequence, int64_t batches_max) {
  if (tokens.size() < 2) {
    return InvalidArgument(
        "the validation split has {} tokens; at least 2 are needed: raise data.val_fraction",
        tokens.size());
  }
  ValidationWindows windows(tokens, rows, sequence);
  const int64_t batch_targets = rows * sequence, targets = tokens.size() - 1;
  windows.batch_count_ = (targets + batch_targets - 1) / batch_targets;
  if (batches_max > 0) windows.batch_count_ = std::min(windows.batch_count_, batches_max);
  windows.target_count_ = std::min(targets, windows.batch_count_ * batch_targets);
  return windows;
}

Status ValidationWindows::Fill(int64_t index, std::span<int32_t> tokens,
                               std::span<int32_t> targets) const {
  const int64_t size = rows_ * sequence_;
  GP_CHECK(index >= 0 && index < batch_count_);
  GP_CHECK(static_cast<int64_t>(tokens.size()) == size &&
           static_cast<int64_t>(targets.size()) == size);
  const int64_t offset = index * size;
  const int64_t count = std::min(size, tokens_->size() - 1 - offset);
  std::vector<int32_t> span(static_cast<size_t>(count) + 1);
  RETURN_IF_ERROR(tokens_->Read(offset, span));
  std::fill(std::copy(span.begin(), span.end() - 1, tokens.begin()), tokens.end(), 0);
  std::fill(std::copy(span.begin() + 1, span.end(), targets.begin()), targets.end(), -1);
  return OkStatus();
}

}  // namespace gp::engine

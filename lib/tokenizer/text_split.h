// Splits the tokens of data.text: the first are for training, the last for validation. Pure;
// thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace gp {

struct TextSplit {
  int64_t train_tokens = 0;
  int64_t validation_tokens = 0;  // 0 when the fraction is 0
};

// Like nanoGPT: the first floor(n * (1 - fraction)) are for training. InvalidArgument when a part
// is too short for training or evaluation.
StatusOr<TextSplit> SplitText(int64_t tokens, double val_fraction);

}  // namespace gp

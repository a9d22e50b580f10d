// How the tokens of data.text are split: the first train, the last are kept for validation. Pure;
// thread-safe.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace gp {

struct TextSplit {
  int64_t train_tokens = 0;
  int64_t validation_tokens = 0;  // 0 when the fraction is 0
};

// As nanoGPT splits: the first floor(n * (1 - fraction)) train. InvalidArgument when a part is too
// short to learn from or to be evaluated on.
StatusOr<TextSplit> SplitText(int64_t tokens, double val_fraction);

}  // namespace gp

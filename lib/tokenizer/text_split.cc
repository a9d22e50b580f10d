#include "tokenizer/text_split.h"

namespace gp {

StatusOr<TextSplit> SplitText(int64_t tokens, double val_fraction) {
  TextSplit split;
  split.train_tokens = static_cast<int64_t>(static_cast<double>(tokens) * (1.0 - val_fraction));
  if (val_fraction > 0) split.validation_tokens = tokens - split.train_tokens;
  const bool too_short =
      split.train_tokens < 2 || (val_fraction > 0 && split.validation_tokens < 2);
  if (!too_short) return split;
  return InvalidArgument(
      "data.text: {} tokens are too few to split into training and validation; give more text",
      tokens);
}

}  // namespace gp

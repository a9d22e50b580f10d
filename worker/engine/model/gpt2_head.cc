// The head of Gpt2: logits, losses and their gradients, all rows at once or a few at a time. A
// weight gradient sums over rows in ascending order, so both ways give the same gradients, bit for
// bit.
#include <algorithm>

#include "worker/engine/model/gpt2.h"

namespace gp::engine {

// The sum of the losses. A head in pieces keeps no logits: told where the gradient belongs, it
// computes that on the way.
double Gpt2::ForwardHead(const std::optional<BackwardTarget>& target) {
  head_is_done_ = target && rows() > head_rows_max_;
  if (head_is_done_) target_ = *target;
  double loss = 0;
  for (int64_t first = 0; first < rows(); first += head_rows_max_) {
    const RowRange range{first, std::min(head_rows_max_, rows() - first)};
    loss += ForwardHeadRows(range);
    if (head_is_done_) BackwardHeadRows(range);
  }
  return loss;
}

double Gpt2::ForwardHeadRows(RowRange range) {
  backend_->Forward({.shape = {range.count, shape_.channels, shape_.vocabulary_padded},
                     .y = buffers_.logits,
                     .x = buffers_.ln_f.out.From(range.first * shape_.channels),
                     .w = Weight(slots_.lm_head.weight)});
  return backend_->CrossEntropyForward({range.count, shape_.vocabulary, shape_.vocabulary_padded},
                                       buffers_.lse + range.first, buffers_.logits,
                                       buffers_.targets + range.first);
}

void Gpt2::BackwardHead() {
  const bool in_pieces = rows() > head_rows_max_;
  for (int64_t first = 0; first < rows() && !head_is_done_; first += head_rows_max_) {
    const RowRange range{first, std::min(head_rows_max_, rows() - first)};
    if (in_pieces) ForwardHeadRows(range);
    BackwardHeadRows(range);
  }
  BackwardNorm(slots_.ln_f, buffers_.ln_f, buffers_.residual, false);
}

// From logits to the gradients of the weight and, in d_channels, of the last LayerNorm's output.
void Gpt2::BackwardHeadRows(RowRange range) {
  const LinearShape head{range.count, shape_.channels, shape_.vocabulary_padded};
  backend_->CrossEntropyBackward({range.count, shape_.vocabulary, shape_.vocabulary_padded},
                                 buffers_.logits, buffers_.lse + range.first,
                                 buffers_.targets + range.first, target_.scale);
  backend_->BackwardWeight({.shape = head,
                            .dw = Gradient(slots_.lm_head.weight),
                            .dy = buffers_.logits,
                            .x = buffers_.ln_f.out.From(range.first * shape_.channels),
                            .accumulate = target_.accumulate || range.first > 0});
  backend_->BackwardInput({.shape = head,
                           .dx = buffers_.d_channels.From(range.first * shape_.channels),
                           .dy = buffers_.logits,
                           .w = Weight(slots_.lm_head.weight)});
}

}  // namespace gp::engine

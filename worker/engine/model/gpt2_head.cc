// The head of Gpt2: logits, losses and their gradients, all rows at once or a few at a time. A
// weight gradient sums over rows in ascending order, so both ways give the same gradients, bit for
// bit.
#include <algorithm>

#include "worker/engine/model/gpt2.h"

namespace gp::engine {

// If ExpectBackward was called, also computes gradients: a head in pieces, which keeps no logits,
// its whole gradient; a head in one piece only the gradient of the logits.
void Gpt2::ForwardHead() {
  for (int64_t first = 0; first < rows(); first += head_rows_max_) {
    const RowRange range{first, std::min(head_rows_max_, rows() - first)};
    ForwardHeadRows(range, loss_);
    if (head_gradient_ == HeadGradient::kAll) BackwardHeadRows(range);
  }
}

void Gpt2::ForwardHeadRows(RowRange range, double* loss) {
  backend_->Forward({.shape = {range.count, shape_.channels, shape_.vocabulary_padded},
                     .y = buffers_.logits,
                     .x = buffers_.ln_f.out.From(range.first * shape_.channels),
                     .w = Weight(slots_.lm_head.weight)});
  if (head_gradient_ == HeadGradient::kNone) {
    backend_->Forward(LossOf(range, loss));
  } else {
    backend_->ForwardAndBackward(LossOf(range, loss), LossGradientOf(range));
  }
}

CrossEntropyLoss Gpt2::LossOf(RowRange range, double* loss) const {
  return {.shape = {range.count, shape_.vocabulary, shape_.vocabulary_padded},
          .loss = loss,
          .lse = buffers_.lse + range.first,
          .logits = buffers_.logits,
          .targets = buffers_.targets + range.first};
}

CrossEntropyGradient Gpt2::LossGradientOf(RowRange range) const {
  return {.shape = {range.count, shape_.vocabulary, shape_.vocabulary_padded},
          .logits = buffers_.logits,
          .lse = buffers_.lse + range.first,
          .targets = buffers_.targets + range.first,
          .scale = target_.scale,
          .loss_scale = loss_scale_};
}

void Gpt2::BackwardHead() {
  const bool in_pieces = rows() > head_rows_max_;
  const bool is_done = head_gradient_ == HeadGradient::kAll;
  for (int64_t first = 0; first < rows() && !is_done; first += head_rows_max_) {
    const RowRange range{first, std::min(head_rows_max_, rows() - first)};
    // The pieces' logits were not kept, so they are computed again; this loss is not used.
    if (in_pieces) ForwardHeadRows(range, buffers_.discarded_loss);
    if (head_gradient_ == HeadGradient::kNone) backend_->Backward(LossGradientOf(range));
    BackwardHeadRows(range);
  }
  if (lowest_block_ == shape_.layers) {
    backend_->Backward(NormGradientArgs(slots_.ln_f, buffers_.ln_f, buffers_.residual, false));
    return;
  }
  BackwardAddition(slots_.ln_f, buffers_.ln_f, buffers_.residual, false,
                   slots_.blocks.back().mlp_c_proj,
                   Site(DropoutSite::kMlpBranch, shape_.layers - 1));
}

// Computes, from the logits' gradient, the gradient of the weight and, in d_channels, of the last
// LayerNorm's output.
void Gpt2::BackwardHeadRows(RowRange range) {
  const LinearShape head{range.count, shape_.channels, shape_.vocabulary_padded};
  if (slots_.lm_head.trained) {
    backend_->BackwardWeight({.shape = head,
                              .dw = Gradient(slots_.lm_head.weight),
                              .dy = buffers_.logits,
                              .x = buffers_.ln_f.out.From(range.first * shape_.channels),
                              .accumulate = target_.accumulate || range.first > 0});
  }
  backend_->BackwardInput({.shape = head,
                           .dx = buffers_.d_channels.From(range.first * shape_.channels),
                           .dy = buffers_.logits,
                           .w = Weight(slots_.lm_head.weight)});
}

}  // namespace gp::engine

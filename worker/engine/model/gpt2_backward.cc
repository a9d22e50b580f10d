// The backward pass of Gpt2 below the head.
#include "worker/engine/model/gpt2.h"

namespace gp::engine {

void Gpt2::Backward(float gradient_scale, std::span<float> gradients, bool accumulate,
                    const GradientReady& ready) {
  CheckGradients(gradients);
  target_ = {gradients, gradient_scale, accumulate};
  if (!ready) {
    backend_->Replay(KeyOf(Pass::kBackward, 0), [this] {
      for (int64_t stage = 0; stage < stage_end(); ++stage) BackwardStage(stage);
    });
    return;
  }
  for (int64_t stage = 0; stage < stage_end(); ++stage) {
    backend_->Replay(KeyOf(Pass::kStage, static_cast<uint64_t>(stage)),
                     [this, stage] { BackwardStage(stage); });
    for (const GradientRange& range : FinalAfter(stage)) ready(range.first, range.last);
  }
}

void Gpt2::BackwardStage(int64_t stage) {
  if (stage == 0) {
    if (!target_.accumulate) ClearGaps();
    return BackwardHead();
  }
  if (stage + 1 == stage_count()) return BackwardEmbedding();
  const int64_t layer = shape_.layers - (stage + 1) / 2;
  if (stage % 2 == 0) return BackwardAttention(layer);
  RecomputeBlock(layer);
  BackwardMlp(layer);
}

const std::vector<GradientRange>& Gpt2::FinalAfter(int64_t stage) const {
  if (stage == 0) return stages_.head;
  if (stage + 1 == stage_count()) return stages_.embedding;
  const auto& block = stages_.blocks[static_cast<size_t>(shape_.layers - (stage + 1) / 2)];
  return stage % 2 == 0 ? block.attention : block.mlp;
}

// Computes again, with equal bits, the values that the forward pass of the block did not keep.
// Those of the last block are still there.
void Gpt2::RecomputeBlock(int64_t layer) {
  if (recompute_ == runspec::Recompute::kNone || layer + 1 == shape_.layers) return;
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  if (recompute_ == runspec::Recompute::kGelu) {
    backend_->GeluForward(rows() * 4 * shape_.channels, shape_.gelu, block.gelu, block.fc);
    return;
  }
  NormOf(slots_.blocks[static_cast<size_t>(layer)].ln_1, block.ln_1, block.residual);
  ForwardAttention(layer);
  ForwardHidden(layer);
}

// d_residual holds the gradient at the block's output and, on return, at the output of attention.
void Gpt2::BackwardMlp(int64_t layer) {
  const BlockSlots& slots = slots_.blocks[static_cast<size_t>(layer)];
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  const int64_t c = shape_.channels;
  BackwardBranch(Site(DropoutSite::kMlpBranch, layer));
  BackwardLinear(slots.mlp_c_proj, EagerBias(slots.mlp_c_proj), buffers_.d_branch, block.gelu,
                 4 * c, c);
  backend_->BackwardInput({.shape = linear(4 * c, c),
                           .dx = buffers_.d_fc,
                           .dy = buffers_.d_branch,
                           .w = Weight(slots.mlp_c_proj.weight),
                           .pre_gelu = fused_ ? block.fc : Buffer{},
                           .kind = shape_.gelu,
                           .may_be_fp8 = true,
                           .dbias = FusedBias(slots.c_fc),
                           .accumulate_bias = target_.accumulate});
  if (!fused_) backend_->GeluBackward(rows() * 4 * c, shape_.gelu, buffers_.d_fc, block.fc);
  BackwardLinear(slots.c_fc, EagerBias(slots.c_fc), buffers_.d_fc, block.ln_2.out, c, 4 * c);
  backend_->BackwardInput({.shape = linear(c, 4 * c),
                           .dx = buffers_.d_channels,
                           .dy = buffers_.d_fc,
                           .w = Weight(slots.c_fc.weight),
                           .may_be_fp8 = true});
  BackwardAddition(slots.ln_2, block.ln_2, block.residual_mid, true, slots.attn_c_proj,
                   Site(DropoutSite::kAttentionBranch, layer));
}

void Gpt2::BackwardAttention(int64_t layer) {
  const BlockSlots& slots = slots_.blocks[static_cast<size_t>(layer)];
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  const int64_t c = shape_.channels;
  BackwardBranch(Site(DropoutSite::kAttentionBranch, layer));
  BackwardLinear(slots.attn_c_proj, EagerBias(slots.attn_c_proj), buffers_.d_branch,
                 block.attention, c, c);
  backend_->BackwardInput({.shape = linear(c, c),
                           .dx = buffers_.d_channels,
                           .dy = buffers_.d_branch,
                           .w = Weight(slots.attn_c_proj.weight),
                           .may_be_fp8 = true});
  if (attention_ == runspec::Attention::kMath) {
    backend_->Backward(StoredAttentionOf(layer), buffers_.d_qkv, buffers_.d_channels);
  } else {
    backend_->AttentionBackward(attention_shape(), buffers_.d_qkv, buffers_.d_channels,
                                block.attention, block.lse, block.qkv,
                                Site(DropoutSite::kProbabilities, layer));
  }
  BackwardLinear(slots.c_attn, BiasGradient(slots.c_attn), buffers_.d_qkv, block.ln_1.out, c,
                 3 * c);
  backend_->BackwardInput({.shape = linear(c, 3 * c),
                           .dx = buffers_.d_channels,
                           .dy = buffers_.d_qkv,
                           .w = Weight(slots.c_attn.weight),
                           .may_be_fp8 = true});
  if (layer == lowest_block_) {
    backend_->Backward(NormGradientArgs(slots.ln_1, block.ln_1, block.residual, true));
    return;
  }
  BackwardAddition(slots.ln_1, block.ln_1, block.residual, true,
                   slots_.blocks[static_cast<size_t>(layer - 1)].mlp_c_proj,
                   Site(DropoutSite::kMlpBranch, layer - 1));
}

void Gpt2::BackwardEmbedding() {
  const auto clear = [&](const char* name) {
    const runspec::ParameterInfo& tensor = layout_.at(name);
    if (!tensor.trained) return;
    backend_->Zero(Gradient(tensor.offset), tensor.count * static_cast<int64_t>(sizeof(float)));
  };
  // A tied wte already holds the head's gradient.
  if (!target_.accumulate && !shape_.tied_head) clear("wte.weight");
  if (!target_.accumulate) clear("wpe.weight");
  backend_->EmbeddingBackward(sequences_, length_, shape_.channels, WeightGradient(slots_.wte),
                              WeightGradient(slots_.wpe), buffers_.d_residual, buffers_.tokens,
                              Site(DropoutSite::kEmbedding, 0));
}

void Gpt2::BackwardLinear(const ParameterSlot& slot, float* dbias, Buffer dy, Buffer x, int64_t in,
                          int64_t out) {
  if (!slot.trained) return;
  backend_->BackwardWeight({.shape = linear(in, out),
                            .dw = Gradient(slot.weight),
                            .dbias = dbias,
                            .dy = dy,
                            .x = x,
                            .accumulate = target_.accumulate});
}

// The backward pass of AddBranch. It writes the gradient of the stream to d_residual. If fused, it
// also writes the gradient of the branch to d_branch, and that of the bias of `projection`, the
// branch's last layer.
void Gpt2::BackwardAddition(const ParameterSlot& slot, const NormBuffers& norm, Buffer in,
                            bool accumulate_input, const ParameterSlot& projection,
                            const Dropout& dropout) {
  const LayerNormBackward args = NormGradientArgs(slot, norm, in, accumulate_input);
  if (fused_) {
    backend_->ResidualLayerNormBackward(
        args, {.dbranch = buffers_.d_branch, .dropout = dropout, .dbias = FusedBias(projection)});
  } else {
    backend_->Backward(args);
  }
}

// Computes d_branch, unless BackwardAddition has computed it.
void Gpt2::BackwardBranch(const Dropout& dropout) {
  if (fused_) return;
  backend_->ResidualBackward(rows(), shape_.channels, buffers_.d_branch, buffers_.d_residual,
                             dropout);
}

LayerNormBackward Gpt2::NormGradientArgs(const ParameterSlot& slot, const NormBuffers& norm,
                                         Buffer in, bool accumulate_input) const {
  return {.rows = rows(),
          .channels = shape_.channels,
          .din = buffers_.d_residual,
          .dgamma = WeightGradient(slot),
          .dbeta = BiasGradient(slot),
          .dout = buffers_.d_channels,
          .in = in,
          .mean = norm.mean,
          .rstd = norm.rstd,
          .gamma = Master(slot.weight),
          .accumulate_input = accumulate_input,
          .accumulate_parameters = target_.accumulate};
}

void Gpt2::ClearGaps() {
  for (const runspec::ParameterGap& gap : layout_.Gaps()) {
    backend_->Zero(Gradient(gap.offset), gap.count * static_cast<int64_t>(sizeof(float)));
  }
}

}  // namespace gp::engine

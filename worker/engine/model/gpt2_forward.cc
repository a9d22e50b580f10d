// The forward pass of Gpt2 up to the last LayerNorm.
#include "worker/engine/model/gpt2.h"

namespace gp::engine {

void Gpt2::ForwardTrunk() {
  backend_->EmbeddingForward(sequences_, length_, shape_.channels, buffers_.blocks[0].residual,
                             buffers_.tokens, Master(slots_.wte.weight), Master(slots_.wpe.weight),
                             Site(DropoutSite::kEmbedding, 0));
  NormOf(slots_.blocks[0].ln_1, buffers_.blocks[0].ln_1, buffers_.blocks[0].residual);
  for (int64_t layer = 0; layer < shape_.layers; ++layer) {
    ForwardAttention(layer);
    ForwardMlp(layer);
  }
}

void Gpt2::ForwardAttention(int64_t layer) {
  const BlockSlots& slots = slots_.blocks[static_cast<size_t>(layer)];
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  const int64_t c = shape_.channels;
  backend_->Forward({.shape = linear(c, 3 * c),
                     .y = block.qkv,
                     .x = block.ln_1.out,
                     .w = Weight(slots.c_attn.weight),
                     .bias = Weight(slots.c_attn.bias),
                     .may_be_fp8 = true});
  if (attention_ == runspec::Attention::kMath) {
    backend_->Forward(StoredAttentionOf(layer), block.attention);
  } else {
    backend_->AttentionForward(attention_shape(), block.attention, block.lse, block.qkv,
                               Site(DropoutSite::kProbabilities, layer));
  }
  backend_->Forward({.shape = linear(c, c),
                     .y = buffers_.branch,
                     .x = block.attention,
                     .w = Weight(slots.attn_c_proj.weight),
                     .bias = Weight(slots.attn_c_proj.bias),
                     .may_be_fp8 = true});
  AddBranch(block.residual_mid, block.residual, Site(DropoutSite::kAttentionBranch, layer),
            slots.ln_2, block.ln_2);
}

void Gpt2::ForwardHidden(int64_t layer) {
  const BlockSlots& slots = slots_.blocks[static_cast<size_t>(layer)];
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  const int64_t c = shape_.channels;
  backend_->Forward({.shape = linear(c, 4 * c),
                     .y = block.fc,
                     .x = block.ln_2.out,
                     .w = Weight(slots.c_fc.weight),
                     .bias = Weight(slots.c_fc.bias),
                     .gelu = fused_ ? block.gelu : Buffer{},
                     .kind = shape_.gelu,
                     .may_be_fp8 = true});
  if (!fused_) backend_->GeluForward(rows() * 4 * c, shape_.gelu, block.gelu, block.fc);
}

void Gpt2::ForwardMlp(int64_t layer) {
  const BlockSlots& slots = slots_.blocks[static_cast<size_t>(layer)];
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  const int64_t c = shape_.channels;
  ForwardHidden(layer);
  const bool is_last = layer + 1 == shape_.layers;
  const auto next = static_cast<size_t>(is_last ? 0 : layer + 1);
  const Buffer residual = is_last ? buffers_.residual : buffers_.blocks[next].residual;
  const ParameterSlot& norm_slot = is_last ? slots_.ln_f : slots_.blocks[next].ln_1;
  const NormBuffers& norm = is_last ? buffers_.ln_f : buffers_.blocks[next].ln_1;
  LinearForward project{.shape = linear(4 * c, c),
                        .y = buffers_.branch,
                        .x = block.gelu,
                        .w = Weight(slots.mlp_c_proj.weight),
                        .bias = Weight(slots.mlp_c_proj.bias),
                        .may_be_fp8 = true};
  const Dropout dropout = Site(DropoutSite::kMlpBranch, layer);
  if (fused_ && dropout.probability <= 0 && backend_->adds_in_products()) {
    project.y = residual;
    project.added = block.residual_mid;
    project.bias = BiasFor(residual.type, slots.mlp_c_proj.bias);
    backend_->Forward(project);
    return NormOf(norm_slot, norm, residual);
  }
  backend_->Forward(project);
  AddBranch(residual, block.residual_mid, dropout, norm_slot, norm);
}

// A bias in the type of the residual stream, for a product that adds to it.
Buffer Gpt2::BiasFor(DataType type, int64_t offset) const {
  if (offset < 0 || type != DataType::kFloat32) return Weight(offset);
  return Fp32(buffers_.parameters + offset);
}

// residual = in + dropout(branch); norm = LayerNorm(residual), the input of the next layer.
void Gpt2::AddBranch(Buffer residual, Buffer in, const Dropout& dropout, const ParameterSlot& slot,
                     const NormBuffers& norm) {
  if (fused_) {
    backend_->ResidualLayerNorm(residual, in, buffers_.branch, dropout,
                                NormArgs(slot, norm, residual));
    return;
  }
  backend_->Residual(rows(), shape_.channels, residual, in, buffers_.branch, dropout);
  NormOf(slot, norm, residual);
}

void Gpt2::NormOf(const ParameterSlot& slot, const NormBuffers& norm, Buffer in) {
  backend_->Forward(NormArgs(slot, norm, in));
}

}  // namespace gp::engine

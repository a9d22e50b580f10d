#include "worker/engine/model/gpt2.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace gp::engine {
namespace {

std::byte* AllocateArena(Backend& backend, const runspec::ArenaPlan& plan) {
  // The workspace is the backend's own.
  const int64_t bytes = plan.at("workspace").offset_bytes;
  return static_cast<std::byte*>(backend.Allocate(bytes));
}

void Announce(const std::vector<GradientRange>& ranges, const GradientReady& ready) {
  if (!ready) return;
  for (const GradientRange& range : ranges) ready(range.first, range.last);
}

// Dropout sites: 0 the embedding, then three a layer.
uint32_t SiteOf(int64_t layer, uint32_t which) { return static_cast<uint32_t>(3 * layer) + which; }
constexpr uint32_t kProbabilities = 1;
constexpr uint32_t kAttentionBranch = 2;
constexpr uint32_t kMlpBranch = 3;

}  // namespace

Gpt2::Gpt2(const Gpt2Options& options, std::unique_ptr<Backend> backend)
    : shape_(options.shape),
      layout_(runspec::MakeParameterLayout(shape_)),
      stages_(MakeGradientStages(layout_, shape_.layers)),
      plan_(runspec::MakeArenaPlan(shape_, options.arena)),
      sequences_max_(options.arena.micro_batch),
      length_max_(options.arena.sequence),
      fused_(options.fused),
      backend_(std::move(backend)),
      slots_(shape_, layout_),
      buffers_(shape_, plan_, AllocateArena(*backend_, plan_)) {}

std::span<float> Gpt2::parameters() {
  return {buffers_.parameters, static_cast<size_t>(layout_.total_count)};
}

std::span<uint16_t> Gpt2::working_copy() {
  if (buffers_.working_copy == nullptr) return {};
  return {buffers_.working_copy, static_cast<size_t>(layout_.total_count)};
}

void Gpt2::ParametersChanged() {
  if (buffers_.working_copy == nullptr) return;
  backend_->Round(layout_.total_count, buffers_.working_copy, buffers_.parameters);
}

double Gpt2::Forward(const TokenBatch& batch, const Dropout& dropout) {
  TakeBatch(batch);
  CheckIds(batch.targets, -1, "target");
  if (std::ssize(batch.targets) != rows()) {
    throw std::invalid_argument("the batch has " + std::to_string(batch.targets.size()) +
                                " targets for " + std::to_string(rows()) + " tokens");
  }
  std::copy(batch.targets.begin(), batch.targets.end(), buffers_.targets);
  ForwardTrunk(dropout);
  return ForwardHead();
}

double Gpt2::Loss(const TokenBatch& batch) { return Forward(batch, Dropout{}); }

void Gpt2::NextTokenLogits(const TokenBatch& batch, std::span<float> logits) {
  TakeBatch(batch);
  if (std::ssize(logits) != sequences_ * shape_.vocabulary) {
    throw std::invalid_argument("the logits need (sequences, vocabulary) elements");
  }
  ForwardTrunk(Dropout{});
  const Buffer from = buffers_.ln_f.out;
  const int64_t row_bytes = shape_.channels * (from.type == DataType::kBfloat16 ? 2 : 4);
  for (int64_t i = 0; i < sequences_; ++i) {
    std::memcpy(static_cast<std::byte*>(buffers_.last_rows.data) + i * row_bytes,
                static_cast<std::byte*>(from.data) + ((i + 1) * length_ - 1) * row_bytes,
                static_cast<size_t>(row_bytes));
  }
  backend_->Forward({.shape = {sequences_, shape_.channels, shape_.vocabulary_padded},
                     .y = {buffers_.next_logits, DataType::kFloat32},
                     .x = buffers_.last_rows,
                     .w = Weight(slots_.lm_head.weight)});
  for (int64_t i = 0; i < sequences_; ++i) {
    std::copy_n(buffers_.next_logits + i * shape_.vocabulary_padded, shape_.vocabulary,
                logits.begin() + i * shape_.vocabulary);
  }
}

void Gpt2::TakeBatch(const TokenBatch& batch) {
  const bool fits = batch.sequences >= 1 && batch.length >= 1 && batch.length <= length_max_ &&
                    batch.length <= shape_.context && batch.sequences <= sequences_max_;
  if (!fits || std::ssize(batch.tokens) != batch.sequences * batch.length) {
    throw std::invalid_argument(
        "a batch of " + std::to_string(batch.sequences) + " x " + std::to_string(batch.length) +
        " (" + std::to_string(batch.tokens.size()) + " tokens) does not fit a model made for " +
        std::to_string(sequences_max_) + " x " + std::to_string(length_max_) + " with context " +
        std::to_string(shape_.context));
  }
  CheckIds(batch.tokens, 0, "token");
  sequences_ = batch.sequences;
  length_ = batch.length;
  std::copy(batch.tokens.begin(), batch.tokens.end(), buffers_.tokens);
}

void Gpt2::CheckIds(std::span<const int32_t> ids, int32_t lowest, const char* what) const {
  for (const int32_t id : ids) {
    if (id >= lowest && id < shape_.vocabulary) continue;
    throw std::invalid_argument(std::string(what) + " " + std::to_string(id) +
                                " is beyond the vocabulary of " +
                                std::to_string(shape_.vocabulary));
  }
}

// ---- forward ----

void Gpt2::ForwardTrunk(const Dropout& dropout) {
  dropout_ = dropout;
  backend_->EmbeddingForward(sequences_, length_, shape_.channels, buffers_.blocks[0].residual,
                             buffers_.tokens, Master(slots_.wte.weight), Master(slots_.wpe.weight),
                             Site(0));
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
                     .bias = Weight(slots.c_attn.bias)});
  backend_->AttentionForward(attention_shape(), block.attention, block.lse, block.qkv,
                             Site(SiteOf(layer, kProbabilities)));
  backend_->Forward({.shape = linear(c, c),
                     .y = buffers_.branch,
                     .x = block.attention,
                     .w = Weight(slots.attn_c_proj.weight),
                     .bias = Weight(slots.attn_c_proj.bias)});
  AddBranch(block.residual_mid, block.residual, Site(SiteOf(layer, kAttentionBranch)), slots.ln_2,
            block.ln_2);
}

void Gpt2::ForwardMlp(int64_t layer) {
  const BlockSlots& slots = slots_.blocks[static_cast<size_t>(layer)];
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  const int64_t c = shape_.channels;
  backend_->Forward({.shape = linear(c, 4 * c),
                     .y = block.fc,
                     .x = block.ln_2.out,
                     .w = Weight(slots.c_fc.weight),
                     .bias = Weight(slots.c_fc.bias),
                     .gelu = fused_ ? block.gelu : Buffer{},
                     .kind = shape_.gelu});
  if (!fused_) backend_->GeluForward(rows() * 4 * c, shape_.gelu, block.gelu, block.fc);
  backend_->Forward({.shape = linear(4 * c, c),
                     .y = buffers_.branch,
                     .x = block.gelu,
                     .w = Weight(slots.mlp_c_proj.weight),
                     .bias = Weight(slots.mlp_c_proj.bias)});
  const Dropout dropout = Site(SiteOf(layer, kMlpBranch));
  if (layer + 1 == shape_.layers) {
    AddBranch(buffers_.residual, block.residual_mid, dropout, slots_.ln_f, buffers_.ln_f);
    return;
  }
  const size_t next = static_cast<size_t>(layer) + 1;
  AddBranch(buffers_.blocks[next].residual, block.residual_mid, dropout, slots_.blocks[next].ln_1,
            buffers_.blocks[next].ln_1);
}

// residual = in + dropout(branch), and its LayerNorm for what follows.
void Gpt2::AddBranch(float* residual, const float* in, const Dropout& dropout,
                     const ParameterSlot& slot, const NormBuffers& norm) {
  if (fused_) {
    backend_->ResidualLayerNorm(residual, in, buffers_.branch, dropout,
                                NormArgs(slot, norm, residual));
    return;
  }
  backend_->Residual(rows(), shape_.channels, residual, in, buffers_.branch, dropout);
  NormOf(slot, norm, residual);
}

void Gpt2::NormOf(const ParameterSlot& slot, const NormBuffers& norm, const float* in) {
  backend_->Forward(NormArgs(slot, norm, in));
}

double Gpt2::ForwardHead() {
  backend_->Forward({.shape = linear(shape_.channels, shape_.vocabulary_padded),
                     .y = buffers_.logits,
                     .x = buffers_.ln_f.out,
                     .w = Weight(slots_.lm_head.weight)});
  return backend_->CrossEntropyForward({rows(), shape_.vocabulary, shape_.vocabulary_padded},
                                       buffers_.lse, buffers_.logits, buffers_.targets);
}

// ---- backward ----

void Gpt2::Backward(float gradient_scale, std::span<float> gradients, bool accumulate,
                    const GradientReady& ready) {
  if (std::ssize(gradients) != layout_.total_count) {
    throw std::invalid_argument("the gradients need " + std::to_string(layout_.total_count) +
                                " elements, got " + std::to_string(gradients.size()));
  }
  gradients_ = gradients;
  accumulate_ = accumulate;
  if (!accumulate) ClearGaps();
  BackwardHead(gradient_scale);
  Announce(stages_.head, ready);
  for (int64_t layer = shape_.layers - 1; layer >= 0; --layer) {
    const GradientStages::Block& stages = stages_.blocks[static_cast<size_t>(layer)];
    BackwardMlp(layer);
    Announce(stages.mlp, ready);
    BackwardAttention(layer);
    Announce(stages.attention, ready);
  }
  BackwardEmbedding();
  Announce(stages_.embedding, ready);
}

void Gpt2::BackwardHead(float scale) {
  backend_->CrossEntropyBackward({rows(), shape_.vocabulary, shape_.vocabulary_padded},
                                 buffers_.logits, buffers_.lse, buffers_.targets, scale);
  const LinearShape head = linear(shape_.channels, shape_.vocabulary_padded);
  BackwardLinear(slots_.lm_head, buffers_.logits, buffers_.ln_f.out, head.in, head.out);
  backend_->BackwardInput({.shape = head,
                           .dx = buffers_.d_channels,
                           .dy = buffers_.logits,
                           .w = Weight(slots_.lm_head.weight)});
  BackwardNorm(slots_.ln_f, buffers_.ln_f, buffers_.residual, false);
}

// d_residual holds the gradient behind the block and, on return, the one behind attention.
void Gpt2::BackwardMlp(int64_t layer) {
  const BlockSlots& slots = slots_.blocks[static_cast<size_t>(layer)];
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  const int64_t c = shape_.channels;
  backend_->ResidualBackward(rows(), c, buffers_.d_branch, buffers_.d_residual,
                             Site(SiteOf(layer, kMlpBranch)));
  BackwardLinear(slots.mlp_c_proj, buffers_.d_branch, block.gelu, 4 * c, c);
  backend_->BackwardInput({.shape = linear(4 * c, c),
                           .dx = buffers_.d_fc,
                           .dy = buffers_.d_branch,
                           .w = Weight(slots.mlp_c_proj.weight),
                           .pre_gelu = fused_ ? block.fc : Buffer{},
                           .kind = shape_.gelu});
  if (!fused_) backend_->GeluBackward(rows() * 4 * c, shape_.gelu, buffers_.d_fc, block.fc);
  BackwardLinear(slots.c_fc, buffers_.d_fc, block.ln_2.out, c, 4 * c);
  backend_->BackwardInput({.shape = linear(c, 4 * c),
                           .dx = buffers_.d_channels,
                           .dy = buffers_.d_fc,
                           .w = Weight(slots.c_fc.weight)});
  BackwardNorm(slots.ln_2, block.ln_2, block.residual_mid, true);
}

void Gpt2::BackwardAttention(int64_t layer) {
  const BlockSlots& slots = slots_.blocks[static_cast<size_t>(layer)];
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  const int64_t c = shape_.channels;
  backend_->ResidualBackward(rows(), c, buffers_.d_branch, buffers_.d_residual,
                             Site(SiteOf(layer, kAttentionBranch)));
  BackwardLinear(slots.attn_c_proj, buffers_.d_branch, block.attention, c, c);
  backend_->BackwardInput({.shape = linear(c, c),
                           .dx = buffers_.d_channels,
                           .dy = buffers_.d_branch,
                           .w = Weight(slots.attn_c_proj.weight)});
  backend_->AttentionBackward(attention_shape(), buffers_.d_qkv, buffers_.d_channels,
                              block.attention, block.lse, block.qkv,
                              Site(SiteOf(layer, kProbabilities)));
  BackwardLinear(slots.c_attn, buffers_.d_qkv, block.ln_1.out, c, 3 * c);
  backend_->BackwardInput({.shape = linear(c, 3 * c),
                           .dx = buffers_.d_channels,
                           .dy = buffers_.d_qkv,
                           .w = Weight(slots.c_attn.weight)});
  BackwardNorm(slots.ln_1, block.ln_1, block.residual, true);
}

void Gpt2::BackwardEmbedding() {
  const auto clear = [&](const char* name) {
    const runspec::ParameterInfo& tensor = layout_.at(name);
    backend_->Zero(Gradient(tensor.offset), tensor.count * static_cast<int64_t>(sizeof(float)));
  };
  // A tied wte already holds the head's gradient.
  if (!accumulate_ && !shape_.tied_head) clear("wte.weight");
  if (!accumulate_) clear("wpe.weight");
  backend_->EmbeddingBackward(sequences_, length_, shape_.channels, Gradient(slots_.wte.weight),
                              Gradient(slots_.wpe.weight), buffers_.d_residual, buffers_.tokens,
                              Site(0));
}

void Gpt2::BackwardLinear(const ParameterSlot& slot, Buffer dy, Buffer x, int64_t in, int64_t out) {
  backend_->BackwardWeight({.shape = linear(in, out),
                            .dw = Gradient(slot.weight),
                            .dbias = Gradient(slot.bias),
                            .dy = dy,
                            .x = x,
                            .accumulate = accumulate_});
}

void Gpt2::BackwardNorm(const ParameterSlot& slot, const NormBuffers& norm, const float* in,
                        bool accumulate_input) {
  backend_->Backward(LayerNormBackward{.rows = rows(),
                                       .channels = shape_.channels,
                                       .din = buffers_.d_residual,
                                       .dgamma = Gradient(slot.weight),
                                       .dbeta = Gradient(slot.bias),
                                       .dout = buffers_.d_channels,
                                       .in = in,
                                       .mean = norm.mean,
                                       .rstd = norm.rstd,
                                       .gamma = Master(slot.weight),
                                       .accumulate_input = accumulate_input,
                                       .accumulate_parameters = accumulate_});
}

void Gpt2::ClearGaps() {
  for (size_t i = 0; i < layout_.tensors.size(); ++i) {
    const runspec::ParameterInfo& tensor = layout_.tensors[i];
    const int64_t end =
        i + 1 < layout_.tensors.size() ? layout_.tensors[i + 1].offset : layout_.total_count;
    std::fill(gradients_.begin() + tensor.offset + tensor.count, gradients_.begin() + end, 0.0f);
  }
}

// ---- where things are ----

AttentionShape Gpt2::attention_shape() const {
  return {sequences_, length_, shape_.heads, shape_.channels / shape_.heads};
}

Buffer Gpt2::Weight(int64_t offset) const {
  if (offset < 0) return {};
  if (buffers_.working_copy != nullptr) {
    return {buffers_.working_copy + offset, DataType::kBfloat16};
  }
  return {buffers_.parameters + offset, DataType::kFloat32};
}

const float* Gpt2::Master(int64_t offset) const {
  return offset < 0 ? nullptr : buffers_.parameters + offset;
}

float* Gpt2::Gradient(int64_t offset) const {
  return offset < 0 ? nullptr : gradients_.data() + offset;
}

LayerNorm Gpt2::NormArgs(const ParameterSlot& slot, const NormBuffers& norm,
                         const float* in) const {
  return {.rows = rows(),
          .channels = shape_.channels,
          .out = norm.out,
          .mean = norm.mean,
          .rstd = norm.rstd,
          .in = in,
          .gamma = Master(slot.weight),
          .beta = Master(slot.bias)};
}

Dropout Gpt2::Site(uint32_t site) const {
  Dropout dropout = dropout_;
  dropout.site = site;
  return dropout;
}

}  // namespace gp::engine

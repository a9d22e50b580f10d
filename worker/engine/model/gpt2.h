// Gpt2: GPT-2 (Radford et al. 2019) with hand-written forward and backward over a Backend.
// Pre-LayerNorm blocks
//   x += dropout(proj(attention(qkv(ln_1(x)))))
//   x += dropout(c_proj(gelu(c_fc(ln_2(x)))))
//   logits = head(ln_f(x))
// on one arena allocated at construction; nothing is allocated later. Under bf16 and fp16 the
// numerics are torch autocast's: matrix products and attention take 16 bits and sum in fp32;
// LayerNorm, softmax and losses are fp32, and so is the residual stream unless engine.residual is
// bf16. The arena is the backend's memory: batches are copied by Upload, and a pass is a fixed
// sequence of operations, which the backend may record (Backend::Replay). One thread calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plan/arena_plan.h"
#include "plan/model_part.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/model/gpt2_buffers.h"
#include "worker/engine/model/gradient_stages.h"
#include "worker/engine/model/language_model.h"

namespace gp::engine {

struct Gpt2Options {
  runspec::ModelShape shape;
  runspec::ArenaOptions arena;  // with the forward-only blocks of `trained`
  // GELU inside the matrix products, LayerNorm inside the residual addition; the same bits either
  // way.
  bool fused = true;
  runspec::TrainedParts trained = {};
};

class Gpt2 final : public LanguageModel {
 public:
  Gpt2(const Gpt2Options& options, std::unique_ptr<Backend> backend);

  const runspec::ModelShape& shape() const override { return shape_; }
  const runspec::ParameterLayout& layout() const override { return layout_; }
  std::span<float> parameters() override;
  void ParametersChanged() override;
  std::span<uint16_t> working_copy() override;
  DataType compute_type() const override { return buffers_.logits.type; }
  Backend& backend() override { return *backend_; }

  void set_loss_scale(const float* loss_scale) override { loss_scale_ = loss_scale; }
  void ExpectBackward(float gradient_scale, std::span<float> gradients, bool accumulate) override;
  double Forward(const TokenBatch& batch, const Dropout& dropout) override;
  void ForwardInto(const TokenBatch& batch, const Dropout& dropout, double* loss) override;
  void Backward(float gradient_scale, std::span<float> gradients, bool accumulate,
                const GradientReady& ready) override;
  double Loss(const TokenBatch& batch) override;
  void SequenceLosses(const TokenBatch& batch, std::span<double> losses) override;
  void NextTokenLogits(const TokenBatch& batch, std::span<float> logits) override;

 private:
  struct BackwardTarget {
    std::span<float> gradients;
    float scale = 1;
    bool accumulate = false;
  };
  struct RowRange {
    int64_t first = 0;
    int64_t count = 0;
  };
  // Which part of the head's gradient the last forward pass has computed.
  enum class HeadGradient : uint64_t { kNone, kLogits, kAll };
  enum class Pass : uint64_t { kForward, kBackward, kStage, kLoss };
  // kEmbedding exists once, the others in every layer.
  enum class DropoutSite : uint32_t { kEmbedding, kProbabilities, kAttentionBranch, kMlpBranch };

  // Copies the batch into the arena. Throws std::invalid_argument for sizes or ids that do not fit.
  void LoadBatch(const TokenBatch& batch);
  void LoadTargets(const TokenBatch& batch);
  void SetDropout(const Dropout& dropout);
  void CheckGradients(std::span<const float> gradients) const;
  void CheckIds(std::span<const int32_t> ids, int32_t lowest, const char* what) const;

  double DownloadLoss();
  double LossOfRows(RowRange range);
  // The key that a recorded pass is found by. It holds everything that the recording depends on:
  // the batch's shape, the dropout probability, and the addresses and scale in target_ and loss_.
  ReplayKey KeyOf(Pass pass, uint64_t stage) const;

  void ForwardTrunk();
  void ForwardAttention(int64_t layer);
  void ForwardHidden(int64_t layer);
  void ForwardMlp(int64_t layer);
  void ForwardHead();
  void ForwardHeadRows(RowRange range, double* loss);
  CrossEntropyLoss LossOf(RowRange range, double* loss) const;
  CrossEntropyGradient LossGradientOf(RowRange range) const;
  void NormOf(const ParameterSlot& slot, const NormBuffers& norm, Buffer in);
  Buffer BiasFor(DataType type, int64_t offset) const;
  void AddBranch(Buffer residual, Buffer in, const Dropout& dropout, const ParameterSlot& slot,
                 const NormBuffers& norm);

  // The stages of a backward pass. After each, another part of the gradient is final: the head, the
  // two halves of each block from the last to the first, the embedding. The pass ends with the
  // lowest stage that something trained needs.
  int64_t stage_count() const { return 2 * shape_.layers + 2; }
  int64_t stage_end() const {
    return stages_.embedding.empty() ? 1 + 2 * (shape_.layers - lowest_block_) : stage_count();
  }
  void BackwardStage(int64_t stage);
  const std::vector<GradientRange>& FinalAfter(int64_t stage) const;
  void BackwardHead();
  void BackwardHeadRows(RowRange range);
  void RecomputeBlock(int64_t layer);
  void BackwardMlp(int64_t layer);
  void BackwardAttention(int64_t layer);
  void BackwardEmbedding();
  void BackwardLinear(const ParameterSlot& slot, float* dbias, Buffer dy, Buffer x, int64_t in,
                      int64_t out);
  void BackwardAddition(const ParameterSlot& slot, const NormBuffers& norm, Buffer in,
                        bool accumulate_input, const ParameterSlot& projection,
                        const Dropout& dropout);
  void BackwardBranch(const Dropout& dropout);
  void ClearGaps();

  int64_t rows() const { return sequences_ * length_; }
  AttentionShape attention_shape() const;
  LinearShape linear(int64_t in, int64_t out) const { return {rows(), in, out}; }
  Buffer Weight(int64_t offset) const;  // compute type; absent for -1
  const float* Master(int64_t offset) const;
  float* Gradient(int64_t offset) const;
  // Null if the module is frozen.
  float* WeightGradient(const ParameterSlot& slot) const {
    return slot.trained ? Gradient(slot.weight) : nullptr;
  }
  float* BiasGradient(const ParameterSlot& slot) const {
    return slot.trained ? Gradient(slot.bias) : nullptr;
  }
  // Where to sum the gradient of a layer's bias: FusedBias in the operation that computes the
  // layer's dy, EagerBias in BackwardLinear. One of them is null, so the bias is summed once.
  float* FusedBias(const ParameterSlot& layer) const {
    return fused_ ? BiasGradient(layer) : nullptr;
  }
  float* EagerBias(const ParameterSlot& layer) const {
    return fused_ ? nullptr : BiasGradient(layer);
  }
  LayerNorm NormArgs(const ParameterSlot& slot, const NormBuffers& norm, Buffer in) const;
  LayerNormBackward NormGradientArgs(const ParameterSlot& slot, const NormBuffers& norm, Buffer in,
                                     bool accumulate_input) const;
  StoredAttention StoredAttentionOf(int64_t layer) const;
  Dropout Site(DropoutSite site, int64_t layer) const;

  const runspec::ModelShape shape_;
  const runspec::ParameterLayout layout_;
  const GradientStages stages_;
  const runspec::ArenaPlan plan_;
  const int64_t sequences_max_;
  const int64_t length_max_;
  const bool fused_;
  const runspec::Attention attention_;
  const runspec::Recompute recompute_;
  const int64_t head_rows_max_;
  const int64_t lowest_block_;  // the lowest block with a backward pass
  std::unique_ptr<Backend> backend_;
  const Gpt2Slots slots_;
  const Gpt2Buffers buffers_;

  // The batch of the last forward pass and the gradients of the backward pass under way.
  int64_t sequences_ = 0;
  int64_t length_ = 0;
  Dropout dropout_;
  double* loss_ = nullptr;  // the current forward pass adds its loss to it
  const float* loss_scale_ = nullptr;
  BackwardTarget target_;
  std::optional<BackwardTarget> expected_;  // set by ExpectBackward, used by the next Forward
  HeadGradient head_gradient_ = HeadGradient::kNone;
};

}  // namespace gp::engine

// Gpt2Decoder: GPT-2 with a cache of keys and values over a Backend, for sampling. A token costs
// one row through the model instead of its whole context; a prompt is read in pieces of many rows.
//
// Every row's arithmetic is that of Gpt2's forward pass with the default switches and no dropout,
// in the same order: on a CPU logits are bit-equal to NextTokenLogits of the same tokens, whatever
// else is in the batch and however the tokens were cut into calls. (The residual is fp32 here, also
// for a model that was trained with a bf16 one.) The weights of a training model are read in place.
// A sampler's decoder owns its weights, packed for products of few rows (packed_weights.h). All
// memory is allocated in the constructor, as runspec::MakeDecoderPlan plans it. One thread calls.
//
// On a device, a call that adds one token to each of some slots is a step: its rows are padded to a
// power of two, so that a few recorded graphs serve all steps, and their places lie in device
// memory. One download brings the results of all slots.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/decoder_plan.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/model/decoder.h"
#include "worker/engine/model/gpt2_buffers.h"
#include "worker/engine/model/packed_weights.h"

namespace gp::engine {

// The flat parameters of a model, in the order of runspec::MakeParameterLayout, in backend memory.
// They may change between calls; sequences read before keep the keys and values of the old ones
// until they are cleared.
struct DecoderWeights {
  const float* master = nullptr;
  const uint16_t* working_copy = nullptr;  // if present, computes in its type
  DataType working_type = DataType::kBfloat16;

  DataType compute_type() const {
    return working_copy == nullptr ? DataType::kFloat32 : working_type;
  }
};

struct DecoderOptions {
  runspec::ModelShape shape;
  int64_t slots = 1;
  int64_t length = 0;  // tokens of a slot at most; <= shape.context
};

class Gpt2Decoder final : public Decoder {
 public:
  // `backend` and the weights must outlive this object. Throws std::invalid_argument for sizes that
  // do not fit.
  Gpt2Decoder(const DecoderOptions& options, const DecoderWeights& weights, Backend& backend);
  // A decoder that owns its weights and computes in `compute_type`. The weights are 0 at first:
  // call SetParameter for each tensor of the layout before the first Append.
  Gpt2Decoder(const DecoderOptions& options, DataType compute_type, Backend& backend);

  // `values` are in host memory; the caller may change them on return. Throws std::invalid_argument
  // for a tensor that the model does not have. REQUIRES: the decoder owns its weights.
  void SetParameter(const std::string& name, std::span<const float> values);

  int64_t slots() const override { return std::ssize(lengths_); }
  int64_t length_max() const override { return options_.length; }
  int64_t vocabulary() const override { return options_.shape.vocabulary; }
  int64_t length(int64_t slot) const override { return lengths_.at(static_cast<size_t>(slot)); }
  // On a device, if the vocabulary is large enough.
  int64_t likely_count() const override;
  void Clear(int64_t slot) override { lengths_.at(static_cast<size_t>(slot)) = 0; }
  void Append(std::span<const SlotTokens> added, std::span<float> logits) override;

 private:
  struct Buffers {
    Buffer keys;  // (L, slots, ...) in the backend's order
    Buffer values;
    int32_t* tokens = nullptr;  // in a step followed by the rows' slots and positions
    float* residual = nullptr;  // (rows, C)
    NormBuffers norm;
    Buffer qkv;
    Buffer attention;
    Buffer branch;
    Buffer fc;
    Buffer gelu;
    Buffer head_rows;         // (head rows, C)
    float* logits = nullptr;  // (head rows, Vp)
    // Ids and then logits of the likeliest tokens, (rows, runspec::kLikelyTokens) each; on a device
    std::byte* likely = nullptr;
    float* scratch = nullptr;
  };
  // A row of the current round whose logits are wanted.
  struct WantedRow {
    int64_t row = 0;
    int64_t to = 0;                  // row of the caller's logits
    LikelyTokens* likely = nullptr;  // or where the likeliest tokens go
  };

  Gpt2Decoder(const DecoderOptions& options, const DecoderWeights& weights,
              const runspec::DecoderPlanOptions& plan_options, Backend& backend);

  static Buffers Lay(const runspec::ArenaPlan& plan, std::byte* arena);
  void Check(std::span<const SlotTokens> added, std::span<float> logits) const;
  void CheckEntry(const SlotTokens& entry) const;
  // Fills the next round with tokens that are left, as many as there are rows. False if none are
  // left.
  bool PlanRound(std::span<const SlotTokens> added);
  // Records which of the next `count` rows need logits. They belong to `entry`, of which `taken`
  // tokens are read; its logits begin at row `to`.
  void WantRows(const SlotTokens& entry, int64_t taken, int64_t count, int64_t to);
  void RunRound();
  void EmbedRound();
  void RunBlocks();
  bool IsStep(std::span<const SlotTokens> added) const;
  void Step(std::span<const SlotTokens> added, std::span<float> logits);
  void PlanStep(std::span<const SlotTokens> added);
  void RunStep();
  DecodeRows StepRows() const;
  ReplayKey StepKey() const;
  void Attend(int64_t layer);
  void Feed(int64_t layer);
  void Normalise(const ParameterSlot& slot);
  void AddBranch(const ParameterSlot& next_norm);
  void WriteLogits(std::span<float> logits);
  void WriteLogits(std::span<const WantedRow> wanted, std::span<float> logits);
  void ComputeLogits(int64_t rows, Buffer normed);
  void FindLikely(int64_t rows);
  // Passes the results of rows 0, 1, … to the caller, of which `computed` rows exist.
  void Deliver(std::span<const WantedRow> wanted, int64_t computed, std::span<float> logits);
  void ReadLikely(std::span<const WantedRow> wanted, int64_t computed);
  void ReadLogits(std::span<const WantedRow> wanted, std::span<float> logits);

  LayerNorm NormArgs(const ParameterSlot& slot) const;
  LinearForward Linear(const ParameterSlot& slot, int64_t in, int64_t out, Buffer y,
                       Buffer x) const;
  KvCache CacheOf(int64_t layer) const;
  Buffer Matrix(int64_t offset) const;
  Buffer Bias(int64_t offset) const;  // absent for -1
  Buffer Live(int64_t offset) const;  // a weight of the model, in the compute type
  const float* Fp32Weight(int64_t offset) const;

  const DecoderOptions options_;
  const DecoderWeights weights_;
  Backend& backend_;
  const Gpt2Slots slots_;
  const int64_t rows_max_;
  const int64_t head_rows_max_;
  const int64_t capacity_;
  const bool on_device_;
  const runspec::ArenaPlan plan_;
  std::byte* const arena_;
  const Buffers buffers_;
  std::byte* const downloaded_;  // page-locked; null unless on a device
  std::optional<PackedWeights> own_weights_;
  std::vector<int64_t> lengths_;  // by slot

  // The state of the current call, and of its current round of rows.
  std::vector<int64_t> taken_;  // by entry of `added`
  std::vector<CacheRows> sequences_;
  std::vector<WantedRow> wanted_;
  int64_t rows_ = 0;
  bool is_step_ = false;
  int64_t likely_below_ = 0;   // of the call; 0: no entry asks for likely tokens
  std::vector<int32_t> step_;  // a step's tokens, slots and positions
};

}  // namespace gp::engine

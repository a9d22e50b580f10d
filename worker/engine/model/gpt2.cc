#include "worker/engine/model/gpt2.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include "worker/engine/backend/dropout_key.h"

namespace gp::engine {
namespace {

// The head skips a multiple of this many rows, so that a device sees few shapes of matrix products.
constexpr int64_t kHeadRowsStep = 16;

std::byte* AllocateArena(Backend& backend, const runspec::ArenaPlan& plan) {
  // The arena ends before the plan's workspace, which the backend allocates itself.
  const int64_t bytes = plan.at("workspace").offset_bytes;
  return static_cast<std::byte*>(backend.Allocate(bytes));
}

}  // namespace

Gpt2::Gpt2(const Gpt2Options& options, std::unique_ptr<Backend> backend)
    : shape_(options.shape),
      layout_(runspec::MakeParameterLayout(shape_, options.trained)),
      stages_(MakeGradientStages(layout_, shape_.layers)),
      plan_(runspec::MakeArenaPlan(shape_, options.arena)),
      sequences_max_(options.arena.micro_batch),
      length_max_(options.arena.sequence),
      fused_(options.fused),
      attention_(options.arena.attention),
      recompute_(options.arena.recompute),
      head_rows_max_(runspec::HeadRows(options.arena)),
      lowest_block_(options.arena.forward_only_blocks),
      backend_(std::move(backend)),
      slots_(shape_, layout_),
      buffers_(shape_, plan_, AllocateArena(*backend_, plan_)) {}

std::span<float> Gpt2::parameters() {
  return {buffers_.parameters, static_cast<size_t>(layout_.total_count)};
}

std::span<uint16_t> Gpt2::working_copy() {
  if (buffers_.working_copy.data == nullptr) return {};
  return {static_cast<uint16_t*>(buffers_.working_copy.data),
          static_cast<size_t>(layout_.total_count)};
}

void Gpt2::ParametersChanged() {
  if (buffers_.working_copy.data == nullptr) return;
  backend_->Round(layout_.total_count, buffers_.working_copy, buffers_.parameters, {});
}

double Gpt2::Forward(const TokenBatch& batch, const Dropout& dropout) {
  backend_->Zero(buffers_.loss, sizeof(double));
  ForwardInto(batch, dropout, buffers_.loss);
  return DownloadLoss();
}

// If ExpectBackward was called, the head computes its part of the gradient in the forward pass.
void Gpt2::ForwardInto(const TokenBatch& batch, const Dropout& dropout, double* loss) {
  LoadTargets(batch);
  SetDropout(dropout);
  loss_ = loss;
  head_gradient_ = HeadGradient::kNone;
  if (expected_) {
    target_ = *std::exchange(expected_, std::nullopt);
    head_gradient_ = rows() > head_rows_max_ ? HeadGradient::kAll : HeadGradient::kLogits;
  }
  backend_->Replay(KeyOf(Pass::kForward, 0), [this] {
    ForwardTrunk();
    ForwardHead();
  });
}

double Gpt2::Loss(const TokenBatch& batch) {
  LoadTargets(batch);
  SetDropout({});
  backend_->Zero(buffers_.loss, sizeof(double));
  loss_ = buffers_.loss;
  head_gradient_ = HeadGradient::kNone;
  const auto pass = [this] {
    ForwardTrunk();
    ForwardHead();
  };
  // Batches of other sizes are too rare to be recorded.
  const bool is_full = sequences_ == sequences_max_ && length_ == length_max_;
  is_full ? backend_->Replay(KeyOf(Pass::kLoss, 0), pass) : pass();
  return DownloadLoss();
}

// Skips the head's rows before the first target of a sequence: if a text is scored after a context,
// most rows have no target.
void Gpt2::SequenceLosses(const TokenBatch& batch, std::span<double> losses) {
  LoadTargets(batch);
  SetDropout({});
  head_gradient_ = HeadGradient::kNone;
  ForwardTrunk();
  for (int64_t b = 0; b < sequences_; ++b) {
    const auto targets =
        batch.targets.subspan(static_cast<size_t>(b * length_), static_cast<size_t>(length_));
    const auto first =
        std::find_if(targets.begin(), targets.end(), [](int32_t t) { return t >= 0; });
    const int64_t skipped = (first - targets.begin()) / kHeadRowsStep * kHeadRowsStep;
    losses[static_cast<size_t>(b)] = LossOfRows({b * length_ + skipped, length_ - skipped});
  }
}

double Gpt2::LossOfRows(RowRange range) {
  backend_->Zero(buffers_.loss, sizeof(double));
  const int64_t end = range.first + range.count;
  for (int64_t first = range.first; first < end; first += head_rows_max_) {
    ForwardHeadRows({first, std::min(head_rows_max_, end - first)}, buffers_.loss);
  }
  return DownloadLoss();
}

double Gpt2::DownloadLoss() {
  double loss = 0;
  backend_->Download(&loss, buffers_.loss, sizeof(double));
  return loss;
}

// A pass reads the dropout key from memory when it runs, so one recording serves every micro-batch.
void Gpt2::SetDropout(const Dropout& dropout) {
  dropout_ = dropout;
  if (dropout.probability <= 0) return;
  const uint64_t key = DropoutBatchKey(dropout);
  backend_->Upload(buffers_.dropout_key, &key, sizeof(key));
  dropout_.key = buffers_.dropout_key;
}

ReplayKey Gpt2::KeyOf(Pass pass, uint64_t stage) const {
  const auto address = [](const void* memory) { return reinterpret_cast<uint64_t>(memory); };
  const bool goes_back = pass == Pass::kBackward || pass == Pass::kStage;
  BackwardTarget target;
  if (goes_back || head_gradient_ == HeadGradient::kAll) target = target_;
  if (head_gradient_ == HeadGradient::kLogits) target.scale = target_.scale;
  return {static_cast<uint64_t>(pass) | static_cast<uint64_t>(head_gradient_) << 8 |
              uint64_t{target.accumulate} << 16 | stage << 32,
          static_cast<uint64_t>(sequences_),
          static_cast<uint64_t>(length_),
          std::bit_cast<uint64_t>(dropout_.probability),
          std::bit_cast<uint32_t>(target.scale),
          address(target.gradients.data()),
          goes_back ? 0 : address(loss_),
          address(loss_scale_)};
}

void Gpt2::ExpectBackward(float gradient_scale, std::span<float> gradients, bool accumulate) {
  CheckGradients(gradients);
  expected_ = BackwardTarget{gradients, gradient_scale, accumulate};
}

void Gpt2::LoadTargets(const TokenBatch& batch) {
  LoadBatch(batch);
  CheckIds(batch.targets, -1, "target");
  if (std::ssize(batch.targets) != rows()) {
    throw std::invalid_argument("the batch has " + std::to_string(batch.targets.size()) +
                                " targets for " + std::to_string(rows()) + " tokens");
  }
  backend_->Upload(buffers_.targets, batch.targets.data(),
                   static_cast<int64_t>(batch.targets.size_bytes()));
}

void Gpt2::NextTokenLogits(const TokenBatch& batch, std::span<float> logits) {
  LoadBatch(batch);
  if (std::ssize(logits) != sequences_ * shape_.vocabulary) {
    throw std::invalid_argument("the logits need (sequences, vocabulary) elements");
  }
  SetDropout({});
  ForwardTrunk();
  const Buffer from = buffers_.ln_f.out;
  const int64_t c = shape_.channels;
  for (int64_t i = 0; i < sequences_; ++i) {
    backend_->Copy(buffers_.last_rows.From(i * c).data, from.From(((i + 1) * length_ - 1) * c).data,
                   c * BytesOf(from.type));
  }
  backend_->Forward({.shape = {sequences_, c, shape_.vocabulary_padded},
                     .y = {buffers_.next_logits, DataType::kFloat32},
                     .x = buffers_.last_rows,
                     .w = Weight(slots_.lm_head.weight)});
  for (int64_t i = 0; i < sequences_; ++i) {
    backend_->Download(&logits[static_cast<size_t>(i * shape_.vocabulary)],
                       buffers_.next_logits + i * shape_.vocabulary_padded,
                       shape_.vocabulary * static_cast<int64_t>(sizeof(float)));
  }
}

void Gpt2::LoadBatch(const TokenBatch& batch) {
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
  backend_->Upload(buffers_.tokens, batch.tokens.data(),
                   static_cast<int64_t>(batch.tokens.size_bytes()));
}

void Gpt2::CheckGradients(std::span<const float> gradients) const {
  if (std::ssize(gradients) == layout_.total_count) return;
  throw std::invalid_argument("the gradients need " + std::to_string(layout_.total_count) +
                              " elements, got " + std::to_string(gradients.size()));
}

void Gpt2::CheckIds(std::span<const int32_t> ids, int32_t lowest, const char* what) const {
  for (const int32_t id : ids) {
    if (id >= lowest && id < shape_.vocabulary) continue;
    throw std::invalid_argument(std::string(what) + " " + std::to_string(id) +
                                " is beyond the vocabulary of " +
                                std::to_string(shape_.vocabulary));
  }
}

AttentionShape Gpt2::attention_shape() const {
  return {sequences_, length_, shape_.heads, shape_.channels / shape_.heads};
}

StoredAttention Gpt2::StoredAttentionOf(int64_t layer) const {
  const BlockBuffers& block = buffers_.blocks[static_cast<size_t>(layer)];
  return {.shape = attention_shape(),
          .qkv = block.qkv,
          .probabilities = block.probabilities,
          .scratch = buffers_.d_scores,
          .dropout = Site(DropoutSite::kProbabilities, layer)};
}

Buffer Gpt2::Weight(int64_t offset) const {
  if (offset < 0) return {};
  if (buffers_.working_copy.data != nullptr) return buffers_.working_copy.From(offset);
  return {buffers_.parameters + offset, DataType::kFloat32};
}

const float* Gpt2::Master(int64_t offset) const {
  return offset < 0 ? nullptr : buffers_.parameters + offset;
}

float* Gpt2::Gradient(int64_t offset) const {
  return offset < 0 ? nullptr : target_.gradients.data() + offset;
}

LayerNorm Gpt2::NormArgs(const ParameterSlot& slot, const NormBuffers& norm, Buffer in) const {
  return {.rows = rows(),
          .channels = shape_.channels,
          .out = norm.out,
          .mean = norm.mean,
          .rstd = norm.rstd,
          .in = in,
          .gamma = Master(slot.weight),
          .beta = Master(slot.bias)};
}

Dropout Gpt2::Site(DropoutSite site, int64_t layer) const {
  Dropout dropout = dropout_;
  dropout.site = static_cast<uint32_t>(3 * layer) + static_cast<uint32_t>(site);
  return dropout;
}

}  // namespace gp::engine

#include "worker/engine/model/gpt2_decoder.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace gp::engine {
namespace {

void Require(bool good, const std::string& message) {
  if (!good) throw std::invalid_argument(message);
}

const DecoderOptions& Checked(const DecoderOptions& options) {
  Require(options.slots >= 1, "a decoder needs at least one slot");
  Require(options.length >= 1 && options.length <= options.shape.context,
          "a decoder of " + std::to_string(options.length) +
              " positions does not fit a model with context " +
              std::to_string(options.shape.context));
  return options;
}

runspec::DecoderPlanOptions PlanOptions(const DecoderOptions& options, DataType compute_type,
                                        bool own_weights, const Backend& backend) {
  return {.slots = options.slots,
          .length = options.length,
          .bf16 = compute_type == DataType::kBfloat16,
          .threads = backend.threads(),
          .fp16 = compute_type == DataType::kFloat16,
          .own_weights = own_weights,
          .on_device = !backend.host_reachable()};
}

// Memory of the host for the results of all rows of the head; a backend on the host needs none.
std::byte* AllocateResults(int64_t head_rows, int64_t columns, Backend& backend) {
  if (backend.host_reachable()) return nullptr;
  const int64_t row_bytes = std::max(columns, 2 * runspec::kLikelyTokens) * 4;
  return static_cast<std::byte*>(backend.AllocateHost(head_rows * row_bytes));
}

}  // namespace

Gpt2Decoder::Gpt2Decoder(const DecoderOptions& options, const DecoderWeights& weights,
                         Backend& backend)
    : Gpt2Decoder(options, weights, PlanOptions(options, weights.compute_type(), false, backend),
                  backend) {}

Gpt2Decoder::Gpt2Decoder(const DecoderOptions& options, DataType compute_type, Backend& backend)
    : Gpt2Decoder(options, DecoderWeights{}, PlanOptions(options, compute_type, true, backend),
                  backend) {
  own_weights_.emplace(options_.shape, plan_, arena_, backend_);
}

Gpt2Decoder::Gpt2Decoder(const DecoderOptions& options, const DecoderWeights& weights,
                         const runspec::DecoderPlanOptions& plan_options, Backend& backend)
    : options_(Checked(options)),
      weights_(weights),
      backend_(backend),
      slots_(options.shape, runspec::MakeParameterLayout(options.shape)),
      rows_max_(runspec::DecoderRows(plan_options)),
      head_rows_max_(runspec::DecoderHeadRows(plan_options)),
      capacity_(runspec::CacheCapacity(options.length)),
      on_device_(plan_options.on_device),
      plan_(runspec::MakeDecoderPlan(options.shape, plan_options)),
      arena_(static_cast<std::byte*>(backend.Allocate(plan_.total_bytes))),
      buffers_(Lay(plan_, arena_)),
      downloaded_(AllocateResults(head_rows_max_, options.shape.vocabulary_padded, backend)),
      lengths_(static_cast<size_t>(options.slots)) {}

void Gpt2Decoder::SetParameter(const std::string& name, std::span<const float> values) {
  own_weights_.value().Set(name, values);
}

Gpt2Decoder::Buffers Gpt2Decoder::Lay(const runspec::ArenaPlan& plan, std::byte* arena) {
  const auto get = [&](const std::string& name) {
    const runspec::ArenaTensor& tensor = plan.at(name);
    return Buffer{arena + tensor.offset_bytes, DataTypeOf(tensor)};
  };
  return {.keys = get("keys"),
          .values = get("values"),
          .tokens = static_cast<int32_t*>(get("tokens").data),
          .residual = get("residual").f32(),
          .norm = {get("norm"), get("norm.mean").f32(), get("norm.rstd").f32()},
          .qkv = get("qkv"),
          .attention = get("attention"),
          .branch = get("branch"),
          .fc = get("fc"),
          .gelu = get("gelu"),
          .head_rows = get("head_rows"),
          .logits = get("logits").f32(),
          .likely = plan.has("likely") ? static_cast<std::byte*>(get("likely").data) : nullptr,
          .scratch = get("scratch").f32()};
}

void Gpt2Decoder::Append(std::span<const SlotTokens> added, std::span<float> logits) {
  Check(added, logits);
  likely_below_ = 0;
  for (const SlotTokens& entry : added) {
    if (entry.likely != nullptr) likely_below_ = entry.likely->below;
  }
  is_step_ = IsStep(added);
  if (is_step_) return Step(added, logits);
  taken_.assign(added.size(), 0);
  while (PlanRound(added)) {
    RunRound();
    WriteLogits(logits);
  }
}

void Gpt2Decoder::Check(std::span<const SlotTokens> added, std::span<float> logits) const {
  std::vector<bool> seen(lengths_.size());
  int64_t logit_rows = 0;
  const LikelyTokens* likely = nullptr;
  for (const SlotTokens& entry : added) {
    if (entry.likely != nullptr) {
      Require(likely == nullptr || likely->below == entry.likely->below,
              "entries of one call have different bounds of likely tokens");
      likely = entry.likely;
    }
    Require(entry.slot >= 0 && entry.slot < slots() && !seen[static_cast<size_t>(entry.slot)],
            "slot " + std::to_string(entry.slot) + " occurs twice or is not one of the " +
                std::to_string(slots()) + " slots");
    seen[static_cast<size_t>(entry.slot)] = true;
    CheckEntry(entry);
    logit_rows += entry.logit_rows();
  }
  Require(std::ssize(logits) == logit_rows * vocabulary(),
          "the logits need (wanted rows, vocabulary) elements");
}

void Gpt2Decoder::CheckEntry(const SlotTokens& entry) const {
  Require(!entry.tokens.empty() && length(entry.slot) + std::ssize(entry.tokens) <= length_max(),
          std::to_string(entry.tokens.size()) + " tokens cannot be added to the " +
              std::to_string(length(entry.slot)) + " of slot " + std::to_string(entry.slot) +
              ", which holds " + std::to_string(length_max()));
  if (entry.likely != nullptr) {
    const int64_t below = entry.likely->below;
    Require(entry.wanted == WantedLogits::kLast && likely_count() > 0 && below >= likely_count() &&
                below <= vocabulary(),
            "likely tokens below " + std::to_string(below) + " cannot be found here");
  }
  for (const int32_t id : entry.tokens) {
    Require(id >= 0 && id < vocabulary(), "token " + std::to_string(id) +
                                              " is beyond the vocabulary of " +
                                              std::to_string(vocabulary()));
  }
}

bool Gpt2Decoder::PlanRound(std::span<const SlotTokens> added) {
  sequences_.clear();
  wanted_.clear();
  rows_ = 0;
  int64_t logit_row = 0;
  for (size_t i = 0; i < added.size() && rows_ < rows_max_; ++i) {
    const SlotTokens& entry = added[i];
    const int64_t count = std::min(std::ssize(entry.tokens) - taken_[i], rows_max_ - rows_);
    if (count > 0) {
      int64_t& length = lengths_[static_cast<size_t>(entry.slot)];
      backend_.Upload(buffers_.tokens + rows_, entry.tokens.data() + taken_[i],
                      count * static_cast<int64_t>(sizeof(int32_t)));
      sequences_.push_back({rows_, count, entry.slot, length});
      WantRows(entry, taken_[i], count, logit_row);
      length += count;
      taken_[i] += count;
      rows_ += count;
    }
    logit_row += entry.logit_rows();
  }
  return rows_ > 0;
}

void Gpt2Decoder::WantRows(const SlotTokens& entry, int64_t taken, int64_t count, int64_t to) {
  const int64_t rows = entry.likely != nullptr ? 1 : entry.logit_rows();
  const int64_t first_wanted = std::ssize(entry.tokens) - rows;
  for (int64_t i = std::max(taken, first_wanted); i < taken + count; ++i) {
    wanted_.push_back({rows_ + i - taken, to + i - first_wanted, entry.likely});
  }
}

void Gpt2Decoder::RunRound() {
  EmbedRound();
  RunBlocks();
}

void Gpt2Decoder::RunBlocks() {
  Normalise(slots_.blocks[0].ln_1);
  for (int64_t layer = 0; layer < options_.shape.layers; ++layer) {
    Attend(layer);
    Feed(layer);
  }
}

void Gpt2Decoder::EmbedRound() {
  const int64_t c = options_.shape.channels;
  for (const CacheRows& rows : sequences_) {
    backend_.EmbeddingForward(1, rows.count, c, Fp32(buffers_.residual + rows.row * c),
                              buffers_.tokens + rows.row, Fp32Weight(slots_.wte.weight),
                              Fp32Weight(slots_.wpe.weight) + rows.position * c, Dropout{});
  }
}

void Gpt2Decoder::Attend(int64_t layer) {
  const BlockSlots& block = slots_.blocks[static_cast<size_t>(layer)];
  const int64_t c = options_.shape.channels;
  backend_.Forward(Linear(block.c_attn, c, 3 * c, buffers_.qkv, buffers_.norm.out));
  const CachedAttention attention{.heads = options_.shape.heads,
                                  .head_size = c / options_.shape.heads,
                                  .out = buffers_.attention,
                                  .qkv = buffers_.qkv,
                                  .cache = CacheOf(layer),
                                  .sequences = sequences_,
                                  .scratch = buffers_.scratch};
  is_step_ ? backend_.AttendRows(attention, StepRows()) : backend_.AttentionForward(attention);
  backend_.Forward(Linear(block.attn_c_proj, c, c, buffers_.branch, buffers_.attention));
  AddBranch(block.ln_2);
}

void Gpt2Decoder::Feed(int64_t layer) {
  const BlockSlots& block = slots_.blocks[static_cast<size_t>(layer)];
  const int64_t c = options_.shape.channels;
  LinearForward widen = Linear(block.c_fc, c, 4 * c, buffers_.fc, buffers_.norm.out);
  widen.gelu = buffers_.gelu;
  widen.kind = options_.shape.gelu;
  backend_.Forward(widen);
  backend_.Forward(Linear(block.mlp_c_proj, 4 * c, c, buffers_.branch, buffers_.gelu));
  const bool last = layer + 1 == options_.shape.layers;
  AddBranch(last ? slots_.ln_f : slots_.blocks[static_cast<size_t>(layer) + 1].ln_1);
}

void Gpt2Decoder::Normalise(const ParameterSlot& slot) { backend_.Forward(NormArgs(slot)); }

void Gpt2Decoder::AddBranch(const ParameterSlot& next_norm) {
  backend_.ResidualLayerNorm(Fp32(buffers_.residual), Fp32(buffers_.residual), buffers_.branch,
                             Dropout{}, NormArgs(next_norm));
}

void Gpt2Decoder::WriteLogits(std::span<float> logits) {
  for (std::span<const WantedRow> rest = wanted_; !rest.empty();) {
    const auto count = static_cast<size_t>(std::min(head_rows_max_, std::ssize(rest)));
    WriteLogits(rest.first(count), logits);
    rest = rest.subspan(count);
  }
}

void Gpt2Decoder::WriteLogits(std::span<const WantedRow> wanted, std::span<float> logits) {
  const Buffer normed = buffers_.norm.out;
  const int64_t c = options_.shape.channels;
  for (int64_t i = 0; const WantedRow& from : wanted) {
    backend_.Copy(buffers_.head_rows.From(i++ * c).data, normed.From(from.row * c).data,
                  c * BytesOf(normed.type));
  }
  ComputeLogits(std::ssize(wanted), buffers_.head_rows);
  if (likely_below_ > 0) FindLikely(std::ssize(wanted));
  Deliver(wanted, std::ssize(wanted), logits);
}

void Gpt2Decoder::ComputeLogits(int64_t rows, Buffer normed) {
  LinearForward head = Linear(slots_.lm_head, options_.shape.channels,
                              options_.shape.vocabulary_padded, Fp32(buffers_.logits), normed);
  head.shape.rows = rows;
  backend_.Forward(head);
}

LayerNorm Gpt2Decoder::NormArgs(const ParameterSlot& slot) const {
  return {.rows = rows_,
          .channels = options_.shape.channels,
          .out = buffers_.norm.out,
          .mean = buffers_.norm.mean,
          .rstd = buffers_.norm.rstd,
          .in = Fp32(buffers_.residual),
          .gamma = Fp32Weight(slot.weight),
          .beta = slot.bias < 0 ? nullptr : Fp32Weight(slot.bias)};
}

LinearForward Gpt2Decoder::Linear(const ParameterSlot& slot, int64_t in, int64_t out, Buffer y,
                                  Buffer x) const {
  return {.shape = {rows_, in, out},
          .y = y,
          .x = x,
          .w = Matrix(slot.weight),
          .bias = Bias(slot.bias),
          .w_packed = own_weights_.has_value()};
}

KvCache Gpt2Decoder::CacheOf(int64_t layer) const {
  const int64_t elements = options_.slots * capacity_ * options_.shape.channels;
  return {.keys = buffers_.keys.From(layer * elements),
          .values = buffers_.values.From(layer * elements),
          .capacity = capacity_};
}

Buffer Gpt2Decoder::Matrix(int64_t offset) const {
  return own_weights_ ? own_weights_->Matrix(offset) : Live(offset);
}

Buffer Gpt2Decoder::Bias(int64_t offset) const {
  if (offset < 0) return {};
  return own_weights_ ? own_weights_->Vector(offset) : Live(offset);
}

Buffer Gpt2Decoder::Live(int64_t offset) const {
  if (weights_.working_copy == nullptr) {
    return {const_cast<float*>(weights_.master) + offset, DataType::kFloat32};
  }
  return {const_cast<uint16_t*>(weights_.working_copy) + offset, weights_.working_type};
}

const float* Gpt2Decoder::Fp32Weight(int64_t offset) const {
  return own_weights_ ? own_weights_->Fp32(offset) : weights_.master + offset;
}

}  // namespace gp::engine

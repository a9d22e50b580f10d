// The steps of a Gpt2Decoder on a device, and how results come to the host.
#include <algorithm>
#include <bit>
#include <cstring>

#include "worker/engine/model/gpt2_decoder.h"

namespace gp::engine {

int64_t Gpt2Decoder::likely_count() const {
  return on_device_ && vocabulary() >= runspec::kLikelyTokens ? runspec::kLikelyTokens : 0;
}

bool Gpt2Decoder::IsStep(std::span<const SlotTokens> added) const {
  if (!on_device_ || std::ssize(added) > std::min(rows_max_, head_rows_max_)) return false;
  return std::all_of(added.begin(), added.end(), [](const SlotTokens& entry) {
    return entry.tokens.size() == 1 && entry.wanted == WantedLogits::kLast;
  });
}

void Gpt2Decoder::Step(std::span<const SlotTokens> added, std::span<float> logits) {
  PlanStep(added);
  backend_.Upload(buffers_.tokens, step_.data(),
                  std::ssize(step_) * static_cast<int64_t>(sizeof(int32_t)));
  backend_.Replay(StepKey(), [this] { RunStep(); });
  Deliver(wanted_, rows_, logits);
}

void Gpt2Decoder::PlanStep(std::span<const SlotTokens> added) {
  const auto count = static_cast<uint64_t>(added.size());
  rows_ = std::min({static_cast<int64_t>(std::bit_ceil(count)), rows_max_, head_rows_max_});
  sequences_.clear();
  wanted_.clear();
  step_.assign(static_cast<size_t>(3 * rows_), 0);
  const std::span<int32_t> slots = std::span(step_).subspan(static_cast<size_t>(rows_));
  const std::span<int32_t> positions = slots.subspan(static_cast<size_t>(rows_));
  std::fill_n(slots.begin(), rows_, -1);
  int64_t logit_row = 0;
  for (size_t i = 0; i < added.size(); ++i) {
    int64_t& length = lengths_[static_cast<size_t>(added[i].slot)];
    step_[i] = added[i].tokens[0];
    slots[i] = static_cast<int32_t>(added[i].slot);
    positions[i] = static_cast<int32_t>(length++);
    wanted_.push_back({static_cast<int64_t>(i), logit_row, added[i].likely});
    logit_row += added[i].logit_rows();
  }
}

DecodeRows Gpt2Decoder::StepRows() const {
  return {.rows = rows_,
          .tokens = buffers_.tokens,
          .slots = buffers_.tokens + rows_,
          .positions = buffers_.tokens + 2 * rows_};
}

// No other work on this backend has the address of this arena in its key.
ReplayKey Gpt2Decoder::StepKey() const {
  return {reinterpret_cast<uint64_t>(arena_), static_cast<uint64_t>(rows_),
          static_cast<uint64_t>(likely_below_)};
}

void Gpt2Decoder::RunStep() {
  backend_.EmbedRows(StepRows(), options_.shape.channels, Fp32(buffers_.residual),
                     Fp32Weight(slots_.wte.weight), Fp32Weight(slots_.wpe.weight));
  RunBlocks();
  ComputeLogits(rows_, buffers_.norm.out);
  if (likely_below_ > 0) FindLikely(rows_);
}

void Gpt2Decoder::FindLikely(int64_t rows) {
  const int64_t count = rows * runspec::kLikelyTokens;
  backend_.FindLikeliest({.rows = rows,
                          .columns = options_.shape.vocabulary_padded,
                          .below = likely_below_,
                          .count = runspec::kLikelyTokens,
                          .logits = buffers_.logits,
                          .ids = reinterpret_cast<int32_t*>(buffers_.likely),
                          .values = reinterpret_cast<float*>(buffers_.likely) + count});
}

void Gpt2Decoder::Deliver(std::span<const WantedRow> wanted, int64_t computed,
                          std::span<float> logits) {
  const auto is_likely = [](const WantedRow& row) { return row.likely != nullptr; };
  if (std::any_of(wanted.begin(), wanted.end(), is_likely)) ReadLikely(wanted, computed);
  if (!std::all_of(wanted.begin(), wanted.end(), is_likely)) ReadLogits(wanted, logits);
}

void Gpt2Decoder::ReadLikely(std::span<const WantedRow> wanted, int64_t computed) {
  constexpr int64_t kCount = runspec::kLikelyTokens;
  backend_.BeginDownload(downloaded_, buffers_.likely, 2 * computed * kCount * 4);
  backend_.AwaitDownload();
  const auto* ids = reinterpret_cast<const int32_t*>(downloaded_);
  const auto* values = reinterpret_cast<const float*>(downloaded_) + computed * kCount;
  for (int64_t i = 0; i < std::ssize(wanted); ++i) {
    LikelyTokens* likely = wanted[static_cast<size_t>(i)].likely;
    if (likely == nullptr) continue;
    likely->ids.assign(ids + i * kCount, ids + (i + 1) * kCount);
    likely->logits.assign(values + i * kCount, values + (i + 1) * kCount);
  }
}

void Gpt2Decoder::ReadLogits(std::span<const WantedRow> wanted, std::span<float> logits) {
  const int64_t columns = options_.shape.vocabulary_padded;
  const int64_t row_bytes = vocabulary() * static_cast<int64_t>(sizeof(float));
  const float* rows = buffers_.logits;
  if (on_device_) {
    backend_.BeginDownload(downloaded_, rows, std::ssize(wanted) * columns * 4);
    backend_.AwaitDownload();
    rows = reinterpret_cast<const float*>(downloaded_);
  }
  for (int64_t i = 0; i < std::ssize(wanted); ++i) {
    const WantedRow& to = wanted[static_cast<size_t>(i)];
    if (to.likely != nullptr) continue;
    std::memcpy(logits.data() + to.to * vocabulary(), rows + i * columns,
                static_cast<size_t>(row_bytes));
  }
}

}  // namespace gp::engine

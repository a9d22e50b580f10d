#include "worker/engine/data/batch_source.h"

#include <algorithm>

#include "base/check.h"
#include "runspec/batch_plan.h"
#include "runspec/batch_ramp.h"

namespace gp::engine {
namespace {

using runspec::BatchOrder;

// SplitMix64's finaliser (Steele, Lea, Flood 2014, doi:10.1145/2714064.2660195): a bijection whose
// every output bit depends on every input bit.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Uniform in [0, range): the high half of a 128-bit product has no noticeable bias at ranges below
// 2^40.
int64_t Below(uint64_t bits, int64_t range) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>(Wide{bits} * static_cast<uint64_t>(range) >> 64);
}

}  // namespace

BatchSource::BatchSource(const TokenSource& tokens, const runspec::RunSpec& spec,
                         const runspec::BatchPlan& plan)
    : tokens_(&tokens),
      order_(spec.data.order),
      seed_(spec.seed),
      rows_(spec.batch.micro_batch),
      sequence_(spec.batch.sequence),
      plan_(plan) {
  int64_t offset = 0, strides = 0;
  for (const int64_t size : tokens.parts()) {
    file_offsets_.push_back(offset);
    strides_before_.push_back(strides);
    offset += size;
    strides += runspec::StridesIn(size, spec, plan);
  }
  strides_before_.push_back(strides);
}

StatusOr<BatchSource> BatchSource::Make(const TokenSource& tokens, const runspec::RunSpec& spec,
                                        const runspec::BatchPlan& plan) {
  RETURN_IF_ERROR(runspec::CheckFilesHoldABatch(tokens.parts(), spec, plan));
  return BatchSource(tokens, spec, plan);
}

int64_t BatchSource::RandomOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const {
  uint64_t bits = Mix(seed_);
  for (const int64_t part : {step, static_cast<int64_t>(shard), micro_batch, row}) {
    bits = Mix(bits ^ static_cast<uint64_t>(part));
  }
  return Below(bits, tokens_->size() - sequence_);
}

// Strides follow each other through the files, again and again; within one, shard after shard, row
// after row.
int64_t BatchSource::SequentialOffset(int64_t step, int shard, int64_t micro_batch,
                                      int64_t row) const {
  const int64_t stride =
      (runspec::MicroBatchesBefore(plan_, step) + micro_batch) % strides_before_.back();
  // The last file that begins at or before this stride; files without a whole stride are never
  // found.
  const auto next = std::upper_bound(strides_before_.begin(), strides_before_.end(), stride);
  const auto file = static_cast<size_t>(next - strides_before_.begin()) - 1;
  const int64_t row_index =
      ((stride - strides_before_[file]) * plan_.logical_shards + shard) * rows_ + row;
  return file_offsets_[file] + row_index * sequence_;
}

int64_t BatchSource::RowOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const {
  return order_ == BatchOrder::kRandom ? RandomOffset(step, shard, micro_batch, row)
                                       : SequentialOffset(step, shard, micro_batch, row);
}

void BatchSource::Expect(int64_t step, int shard, int64_t micro_batch) const {
  for (int64_t row = 0; row < rows_; ++row) {
    tokens_->Expect(RowOffset(step, shard, micro_batch, row), sequence_ + 1);
  }
}

Status BatchSource::Fill(int64_t step, int shard, int64_t micro_batch, std::span<int32_t> tokens,
                         std::span<int32_t> targets) const {
  const auto size = static_cast<size_t>(rows_ * sequence_), length = static_cast<size_t>(sequence_);
  GP_CHECK(tokens.size() == size && targets.size() == size, "{} and {} of {}", tokens.size(),
           targets.size(), size);
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t offset = RowOffset(step, shard, micro_batch, row);
    const size_t begin = static_cast<size_t>(row) * length;
    RETURN_IF_ERROR(tokens_->Read(offset, tokens.subspan(begin, length)));
    const auto row_targets = targets.subspan(begin, length);
    std::copy(tokens.begin() + static_cast<std::ptrdiff_t>(begin + 1),
              tokens.begin() + static_cast<std::ptrdiff_t>(begin + length), row_targets.begin());
    RETURN_IF_ERROR(tokens_->Read(offset + sequence_, row_targets.last(1)));
  }
  return OkStatus();
}

}  // namespace gp::engine

#include "worker/engine/data/batch_source.h"

#include <algorithm>

#include "base/check.h"
#include "runspec/batch_plan.h"
#include "runspec/batch_ramp.h"
#include "worker/engine/data/shuffled_index.h"

namespace gp::engine {
namespace {

using runspec::BatchOrder;

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
  int64_t offset = 0, units = 0;
  for (const int64_t size : tokens.parts()) {
    file_offsets_.push_back(offset);
    units_before_.push_back(units);
    offset += size;
    units += order_ == BatchOrder::kShuffled ? runspec::WindowsIn(size, spec)
                                             : runspec::StridesIn(size, spec, plan);
  }
  units_before_.push_back(units);
}

StatusOr<BatchSource> BatchSource::Make(const TokenSource& tokens, const runspec::RunSpec& spec,
                                        const runspec::BatchPlan& plan) {
  RETURN_IF_ERROR(runspec::CheckFilesHoldABatch(tokens.parts(), spec, plan));
  return BatchSource(tokens, spec, plan);
}

int64_t BatchSource::RandomOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const {
  uint64_t bits = MixBits(seed_);
  for (const int64_t part : {step, static_cast<int64_t>(shard), micro_batch, row}) {
    bits = MixBits(bits ^ static_cast<uint64_t>(part));
  }
  return Below(bits, tokens_->size() - sequence_);
}

// The last file that begins at or before this stride or window; files without a whole one are never
// found.
size_t BatchSource::FileOf(int64_t unit) const {
  const auto next = std::upper_bound(units_before_.begin(), units_before_.end(), unit);
  return static_cast<size_t>(next - units_before_.begin()) - 1;
}

// Strides follow each other through the files, again and again; within one, shard after shard, row
// after row.
int64_t BatchSource::SequentialOffset(int64_t step, int shard, int64_t micro_batch,
                                      int64_t row) const {
  const int64_t stride =
      (runspec::MicroBatchesBefore(plan_, step) + micro_batch) % units_before_.back();
  const size_t file = FileOf(stride);
  const int64_t row_index =
      ((stride - units_before_[file]) * plan_.logical_shards + shard) * rows_ + row;
  return file_offsets_[file] + row_index * sequence_;
}

// The rows of a run in the order of step, micro-batch, shard and row take the windows of an epoch
// in its shuffled order, then those of the next epoch.
int64_t BatchSource::ShuffledOffset(int64_t step, int shard, int64_t micro_batch,
                                    int64_t row) const {
  const int64_t stride = runspec::MicroBatchesBefore(plan_, step) + micro_batch;
  const int64_t row_index = (stride * plan_.logical_shards + shard) * rows_ + row;
  const int64_t windows = units_before_.back(), epoch = row_index / windows;
  const uint64_t key = MixBits(MixBits(seed_) ^ static_cast<uint64_t>(epoch));
  const int64_t window = ShuffledIndex(key, row_index % windows, windows);
  const size_t file = FileOf(window);
  return file_offsets_[file] + (window - units_before_[file]) * sequence_;
}

int64_t BatchSource::RowOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const {
  switch (order_) {
    case BatchOrder::kRandom:
      return RandomOffset(step, shard, micro_batch, row);
    case BatchOrder::kSequential:
      return SequentialOffset(step, shard, micro_batch, row);
    case BatchOrder::kShuffled:
      break;
  }
  return ShuffledOffset(step, shard, micro_batch, row);
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
  if (order_ == BatchOrder::kSequential) tokens_->Pass(SequentialOffset(step, 0, 0, 0));
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

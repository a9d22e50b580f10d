#include "worker/data/batch_source.h"

#include <algorithm>

#include "base/check.h"
#include "base/mix_bits.h"
#include "plan/batch_ramp.h"
#include "runspec/batch_plan.h"
#include "worker/data/shuffled_index.h"

namespace gp::engine {
namespace {

using runspec::BatchOrder;

// A shuffle key has the entry's index above this bit, far above any epoch, so that no two keys are
// equal.
constexpr int kEntryShift = 56;

// The number of files of each entry. Without weights there is one entry, with all files.
std::vector<int64_t> EntryFiles(const std::vector<int64_t>& files, const runspec::RunSpec& spec,
                                const std::vector<int64_t>& entry_files) {
  return spec.data.weights.empty() ? std::vector{std::ssize(files)} : entry_files;
}

// Uniform in [0, range): the high half of a 128-bit product has no noticeable bias at ranges below
// 2^40.
int64_t Below(uint64_t bits, int64_t range) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>(Wide{bits} * static_cast<uint64_t>(range) >> 64);
}

}  // namespace

BatchSource::BatchSource(const TokenSource& tokens, const runspec::RunSpec& spec,
                         const runspec::BatchPlan& plan, const std::vector<int64_t>& entry_files,
                         const runspec::TrainingStart& start)
    : tokens_(&tokens),
      order_(spec.data.order),
      seed_(spec.seed),
      rows_(spec.batch.micro_batch),
      sequence_(spec.batch.sequence),
      plan_(plan),
      strides_ahead_(start.tokens / (plan.logical_shards * rows_ * sequence_) -
                     runspec::MicroBatchesBefore(plan, start.step)),
      mixture_(spec.seed, spec.data.weights.empty() ? std::vector{1.0} : spec.data.weights) {
  const std::vector<int64_t> files = tokens.parts();
  auto file = files.begin();
  int64_t offset = 0;
  for (const int64_t count : EntryFiles(files, spec, entry_files)) {
    Entry& entry = entries_.emplace_back();
    entry.offset = offset;
    for (const auto end = file + count; file != end; ++file) AddFile(*file, spec, entry);
    offset += entry.tokens;
  }
}

void BatchSource::AddFile(int64_t tokens, const runspec::RunSpec& spec, Entry& entry) const {
  const int64_t units = order_ == BatchOrder::kShuffled ? runspec::WindowsIn(tokens, spec)
                                                        : runspec::StridesIn(tokens, spec, plan_);
  entry.file_offsets.push_back(entry.offset + entry.tokens);
  entry.units_before.push_back(entry.units_before.back() + units);
  entry.tokens += tokens;
}

StatusOr<BatchSource> BatchSource::Make(const TokenSource& tokens, const runspec::RunSpec& spec,
                                        const runspec::BatchPlan& plan,
                                        const std::vector<int64_t>& entry_files,
                                        const runspec::TrainingStart& start) {
  const std::vector<int64_t> files = tokens.parts();
  RETURN_IF_ERROR(
      runspec::CheckEntriesHoldABatch(files, EntryFiles(files, spec, entry_files), spec, plan));
  const int64_t granule = plan.logical_shards * spec.batch.micro_batch * spec.batch.sequence;
  if (spec.data.order != BatchOrder::kRandom && start.tokens % granule != 0) {
    return InvalidArgument(
        "init_data: keep: the run continues after {} tokens, which are not a multiple of {}; use "
        "the "
        "batch.micro_batch and batch.sequence that it began with",
        start.tokens, runspec::DescribeGranule(spec));
  }
  return BatchSource(tokens, spec, plan, entry_files, start);
}

int64_t BatchSource::StridesBefore(int64_t step) const {
  return strides_ahead_ + runspec::MicroBatchesBefore(plan_, step);
}

// Numbers the rows of a run in the order of step, micro-batch, shard and row.
int64_t BatchSource::RowIndex(int64_t step, int shard, int64_t micro_batch, int64_t row) const {
  const int64_t stride = StridesBefore(step) + micro_batch;
  return (stride * plan_.logical_shards + shard) * rows_ + row;
}

int64_t BatchSource::RandomOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const {
  uint64_t bits = MixBits(seed_);
  for (const int64_t part : {step, static_cast<int64_t>(shard), micro_batch, row}) {
    bits = MixBits(bits ^ static_cast<uint64_t>(part));
  }
  const Entry& entry = entries_[mixture_.At(RowIndex(step, shard, micro_batch, row)).source];
  return entry.offset + Below(bits, entry.tokens - sequence_);
}

// The file that holds stride or window `unit`. A file without a complete one is never returned.
size_t BatchSource::FileOf(const Entry& entry, int64_t unit) {
  const std::vector<int64_t>& before = entry.units_before;
  return static_cast<size_t>(std::upper_bound(before.begin(), before.end(), unit) -
                             before.begin()) -
         1;
}

// Steps use the strides of all files in order, and then begin again. A stride has the rows of the
// first shard, then those of the next.
int64_t BatchSource::SequentialOffset(int64_t step, int shard, int64_t micro_batch,
                                      int64_t row) const {
  const Entry& entry = entries_.front();
  const int64_t stride = (StridesBefore(step) + micro_batch) % entry.units_before.back();
  const size_t file = FileOf(entry, stride);
  const int64_t row_index =
      ((stride - entry.units_before[file]) * plan_.logical_shards + shard) * rows_ + row;
  return entry.file_offsets[file] + row_index * sequence_;
}

// The rows of an entry use each of its windows once per epoch, in a new shuffled order each epoch.
int64_t BatchSource::ShuffledOffset(int64_t row_index) const {
  const Mixture::Draw draw = mixture_.At(row_index);
  const Entry& entry = entries_[draw.source];
  const int64_t windows = entry.units_before.back(), epoch = draw.index / windows;
  const uint64_t key = MixBits(MixBits(seed_) ^ static_cast<uint64_t>(epoch) ^
                               static_cast<uint64_t>(draw.source) << kEntryShift);
  const int64_t window = ShuffledIndex(key, draw.index % windows, windows);
  const size_t file = FileOf(entry, window);
  return entry.file_offsets[file] + (window - entry.units_before[file]) * sequence_;
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
  return ShuffledOffset(RowIndex(step, shard, micro_batch, row));
}

void BatchSource::Expect(int64_t step, int shard, int64_t micro_batch) const {
  for (int64_t row = 0; row < rows_; ++row) {
    tokens_->Expect(RowOffset(step, shard, micro_batch, row), sequence_ + 1);
  }
}

void BatchSource::Pass(int64_t step) const {
  if (order_ == BatchOrder::kSequential) tokens_->Pass(SequentialOffset(step, 0, 0, 0));
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

#include "worker/data/batch_reader.h"

#include <algorithm>
#include <utility>

#include "base/machine/progress.h"
#include "plan/batch_ramp.h"

namespace gp::engine {

BatchReader::BatchReader(const BatchSource& source, const runspec::BatchPlan& plan, int first_shard,
                         int shard_count)
    : source_(source),
      plan_(plan),
      first_shard_(first_shard),
      end_shard_(first_shard + shard_count),
      tokens_(static_cast<size_t>(source.rows() * source.sequence())),
      targets_(tokens_.size()),
      thread_([this] { ReadWhatIsAsked(); }) {}

BatchReader::~BatchReader() {
  MutexLock lock(mutex_);
  ending_ = true;
  changed_.NotifyAll();
}

BatchReader::Place BatchReader::After(const Place& place) const {
  if (place.micro_batch + 1 < runspec::AccumulationAt(plan_, place.step)) {
    return {place.step, place.shard, place.micro_batch + 1};
  }
  if (place.shard + 1 < end_shard_) return {place.step, place.shard + 1, 0};
  return {place.step + 1, first_shard_, 0};
}

Status BatchReader::Read(int64_t step, int shard, int64_t micro_batch, std::span<int32_t> tokens,
                         std::span<int32_t> targets) {
  const Place place{step, shard, micro_batch};
  const progress::Awaiting waiting(progress::Wait::kData);
  MutexLock lock(mutex_);
  if (asked_ || ahead_ != place) counts_.batches_ready = 0;
  AwaitRead();
  // Called here, not when a batch is read ahead: until its step begins, a checkpoint may need
  // earlier positions of the stream.
  source_.Pass(step);
  Status status = status_;
  if (ahead_ == place) {
    std::copy(tokens_.begin(), tokens_.end(), tokens.begin());
    std::copy(targets_.begin(), targets_.end(), targets.begin());
  } else {
    status = source_.Fill(step, shard, micro_batch, tokens, targets);
    counts_.bytes += source_.batch_bytes();
  }
  ahead_ = After(place);
  asked_ = true;
  changed_.NotifyAll();
  return status;
}

ReaderCounts BatchReader::TakeCounts() {
  MutexLock lock(mutex_);
  return std::exchange(counts_, {});
}

void BatchReader::AwaitRead() {
  while (asked_) changed_.Wait(mutex_);
}

void BatchReader::ReadWhatIsAsked() {
  while (true) {
    Place place;
    {
      MutexLock lock(mutex_);
      while (!asked_ && !ending_) changed_.Wait(mutex_);
      if (ending_) return;
      place = ahead_;
    }
    const Status status =
        source_.Fill(place.step, place.shard, place.micro_batch, tokens_, targets_);
    // Prefetch the same micro-batch of the next step.
    source_.Expect(place.step + 1, place.shard, place.micro_batch);
    MutexLock lock(mutex_);
    status_ = status;
    counts_.bytes += source_.batch_bytes();
    asked_ = false;
    changed_.NotifyAll();
  }
}

}  // namespace gp::engine

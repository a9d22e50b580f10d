// BatchReader: reads a rank's micro-batches one ahead of the step, in its own thread, so that the
// step copies a batch from memory instead of waiting for files or tokenization. Its batches equal
// those of BatchSource::Fill. One thread calls.
#pragma once

#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "plan/run_spec.h"
#include "worker/data/batch_source.h"

namespace gp::engine {

// A reader's work since the last query.
struct ReaderCounts {
  // The minimum number of micro-batches in memory when Read was called: 1, or 0 if it had to wait.
  int batches_ready = 1;
  int64_t bytes = 0;  // of all tokens read, including those read ahead
};

class BatchReader {
 public:
  // For a rank that owns logical shards [first_shard, first_shard + shard_count). `source` and
  // `plan` must outlive this object.
  BatchReader(const BatchSource& source, const runspec::BatchPlan& plan, int first_shard,
              int shard_count);
  // Waits for the read in progress.
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  // Fills a micro-batch as BatchSource::Fill does, with its errors, and starts to read the one
  // after it: the shard's next one, then the next shard's first one, then the next step's. The
  // caller may also read any other, but then waits until it is read. Calls BatchSource::Pass:
  // earlier steps of a stream cannot be read any more.
  Status Read(int64_t step, int shard, int64_t micro_batch, std::span<int32_t> tokens,
              std::span<int32_t> targets) EXCLUDES(mutex_);

  ReaderCounts TakeCounts() EXCLUDES(mutex_);

 private:
  struct Place {
    int64_t step = -1;
    int shard = 0;
    int64_t micro_batch = 0;

    bool operator==(const Place&) const = default;
  };

  Place After(const Place& place) const;
  void ReadWhatIsAsked() EXCLUDES(mutex_);
  void AwaitRead() REQUIRES(mutex_);

  const BatchSource& source_;
  const runspec::BatchPlan& plan_;
  const int first_shard_;
  const int end_shard_;

  Mutex mutex_;
  CondVar changed_;
  Place ahead_ GUARDED_BY(mutex_);         // the batch that is read ahead; step -1 at first
  bool asked_ GUARDED_BY(mutex_) = false;  // the thread reads it or is about to
  bool ending_ GUARDED_BY(mutex_) = false;
  Status status_ GUARDED_BY(mutex_);  // of the last read
  ReaderCounts counts_ GUARDED_BY(mutex_);
  // The batch that is read ahead. The thread writes it while `asked_` is true, the caller reads it
  // while it is false.
  std::vector<int32_t> tokens_;
  std::vector<int32_t> targets_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace gp::engine

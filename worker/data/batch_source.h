// BatchSource: the tokens of each micro-batch of a run. For given data and batch settings a pure
// function of (seed, step, shard, micro-batch, row): there is no loader state to save, and the
// global batch of a step is the same for any number of ranks. Constant after construction; any
// thread may call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "plan/run_spec.h"
#include "plan/training_start.h"
#include "worker/data/mixture.h"
#include "worker/data/token_source.h"

namespace gp::engine {

class BatchSource {
 public:
  // `tokens` must outlive this object. InvalidArgument when the split, or a part of a mixture, is
  // too short for one sequence (random), for one sequence in a file (shuffled) or for one
  // micro-batch on every logical shard (sequential): the message names both numbers. `spec` gives
  // order, seed, micro_batch, sequence and the weights of a mixture; `entry_files` gives the number
  // of files of each of its entries, and is ignored without weights; `plan` comes from
  // runspec::PlanBatch. `start`: where the run's counters began; in sequential and shuffled order
  // that step reads on after start.tokens, whatever the batches before it were; these must be whole
  // micro-batches.
  static StatusOr<BatchSource> Make(const TokenSource& tokens, const runspec::RunSpec& spec,
                                    const runspec::BatchPlan& plan,
                                    const std::vector<int64_t>& entry_files = {},
                                    const runspec::TrainingStart& start = {});

  // Fills a micro-batch, row-major (micro_batch, sequence): targets are the tokens shifted by one.
  // Steps, shards and micro-batches count from 0. The step is the one being computed: committed
  // steps so far. REQUIRES, for a stream: the step was not passed.
  Status Fill(int64_t step, int shard, int64_t micro_batch, std::span<int32_t> tokens,
              std::span<int32_t> targets) const;

  // The steps before `step` will not be filled any more: a stream frees their tokens.
  void Pass(int64_t step) const;

  // Prefetches that micro-batch from disk. Returns at once.
  void Expect(int64_t step, int shard, int64_t micro_batch) const;

  // The offset in the split of a row's first token; what Fill reads from.
  int64_t RowOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const;

  int64_t rows() const { return rows_; }
  int64_t sequence() const { return sequence_; }
  // The bytes that Fill reads for a micro-batch.
  int64_t batch_bytes() const { return rows_ * (sequence_ + 1) * tokens_->token_bytes(); }

 private:
  // The files that rows are drawn from together: all files, or those of one entry of a mixture. A
  // file is divided into complete units: in sequential order strides (one micro-batch on every
  // shard each), in shuffled order windows of one sequence.
  struct Entry {
    int64_t offset = 0;  // in the split
    int64_t tokens = 0;
    // Entry i: units of the files before file i. The last entry is the total.
    std::vector<int64_t> units_before = {0};
    std::vector<int64_t> file_offsets;  // in the split
  };

  BatchSource(const TokenSource& tokens, const runspec::RunSpec& spec,
              const runspec::BatchPlan& plan, const std::vector<int64_t>& entry_files,
              const runspec::TrainingStart& start);

  int64_t StridesBefore(int64_t step) const;
  void AddFile(int64_t tokens, const runspec::RunSpec& spec, Entry& entry) const;
  int64_t RowIndex(int64_t step, int shard, int64_t micro_batch, int64_t row) const;
  int64_t RandomOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const;
  int64_t SequentialOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const;
  int64_t ShuffledOffset(int64_t row_index) const;
  static size_t FileOf(const Entry& entry, int64_t unit);

  const TokenSource* tokens_;
  runspec::BatchOrder order_;
  uint64_t seed_;
  int64_t rows_;      // sequences in a micro-batch
  int64_t sequence_;  // tokens in a row
  runspec::BatchPlan plan_;
  // The strides before the run's start beyond those that this plan would have had; may be negative.
  int64_t strides_ahead_;
  Mixture mixture_;  // with one entry, unless there are weights
  std::vector<Entry> entries_;
};

}  // namespace gp::engine

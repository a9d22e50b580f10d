// BatchSource: which tokens each micro-batch of a run holds. A pure function of (seed, step, shard,
// micro-batch, row): there is no loader state to save, and the global batch of a step is the same
// whatever the number of ranks. Constant after construction; any thread may call.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "runspec/run_spec.h"
#include "worker/engine/data/token_source.h"

namespace gp::engine {

class BatchSource {
 public:
  // `tokens` outlives this. InvalidArgument when the split is too short for one sequence (random),
  // for one sequence in a file (shuffled) or for one micro-batch on every logical shard
  // (sequential): the message names both numbers.
  // `spec` gives order, seed, micro_batch and sequence; `plan` comes from runspec::PlanBatch.
  static StatusOr<BatchSource> Make(const TokenSource& tokens, const runspec::RunSpec& spec,
                                    const runspec::BatchPlan& plan);

  // Fills a micro-batch, row-major (micro_batch, sequence): targets are the tokens shifted by one.
  // Steps, shards and micro-batches count from 0. The step is the one being computed: committed
  // steps so far. Of a stream no step is filled before the one that was filled last.
  Status Fill(int64_t step, int shard, int64_t micro_batch, std::span<int32_t> tokens,
              std::span<int32_t> targets) const;

  // That micro-batch will be asked for soon: what has to come from a disk begins to come. Returns
  // at once.
  void Expect(int64_t step, int shard, int64_t micro_batch) const;

  // The offset in the split of a row's first token; what Fill reads from.
  int64_t RowOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const;

  int64_t rows() const { return rows_; }
  int64_t sequence() const { return sequence_; }

 private:
  BatchSource(const TokenSource& tokens, const runspec::RunSpec& spec,
              const runspec::BatchPlan& plan);

  int64_t RandomOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const;
  int64_t SequentialOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const;
  int64_t ShuffledOffset(int64_t step, int shard, int64_t micro_batch, int64_t row) const;
  size_t FileOf(int64_t unit) const;

  const TokenSource* tokens_;
  runspec::BatchOrder order_;
  uint64_t seed_;
  int64_t rows_;      // sequences in a micro-batch
  int64_t sequence_;  // tokens in a row
  runspec::BatchPlan plan_;
  // A file gives as many units as it holds whole: strides, each one micro-batch on every shard, in
  // the sequential order, windows of one sequence in the shuffled one.
  std::vector<int64_t>
      units_before_;  // by file, of the files before it; one more entry for the total
  std::vector<int64_t> file_offsets_;
};

}  // namespace gp::engine

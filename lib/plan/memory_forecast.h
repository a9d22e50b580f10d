// Computes the memory of a rank, whether it fits, and which setting would make it fit. With
// resources.device: gpu it is the GPU's memory, otherwise the machine's. `gpctl validate`, the
// trainer's check before its first step, and micro_batch: auto use the same numbers. Standard
// library only. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/run_spec.h"
#include "plan/training_plan.h"

namespace gp::runspec {

// Memory of the process besides its plan: code and libraries, the tokenizer, stacks, buffers of
// files and sockets. Measured, and rounded up.
inline constexpr int64_t kProcessBytes = int64_t{256} << 20;
// GPU memory that a run needs besides its plan: the driver's context, kernels, the libraries'
// plans. An allowance, not measured.
inline constexpr int64_t kGpuProcessBytes = int64_t{512} << 20;
// GPU memory that each of several ranks needs in addition: NCCL allocates its channels at the first
// sum, after the plan was made. An allowance, not measured.
inline constexpr int64_t kGpuGroupBytes = int64_t{1} << 30;

// Memory by purpose, for the rank that needs the most.
struct MemoryForecast {
  int64_t parameters_bytes = 0;  // including the working copy in bf16 or fp16
  int64_t gradients_bytes = 0;
  int64_t optimizer_bytes = 0;
  int64_t activations_bytes = 0;  // including the batch
  int64_t workspace_bytes = 0;
  int64_t snapshot_bytes = 0;
  int64_t sampling_bytes = 0;
  int64_t process_bytes = kProcessBytes;

  int64_t total_bytes() const {
    return parameters_bytes + gradients_bytes + optimizer_bytes + activations_bytes +
           workspace_bytes + snapshot_bytes + sampling_bytes + process_bytes;
  }
};

// The options of the rank that owns `owned_shards` shards from `first_shard` on.
TrainingOptions TrainingOptionsOf(const RunSpec& spec, int threads, int first_shard,
                                  int owned_shards);

// The forecast for a run of `workers` ranks (spec.resources.workers when 0). REQUIRES: the
// vocabulary and micro_batch are numbers. Always counts the buffers of gp's own engine:
// engine.kind: reference (LibTorch) allocates different buffers, so its forecast is only an
// estimate.
MemoryForecast ForecastMemory(const RunSpec& spec, const BatchPlan& plan, int threads,
                              int workers = 0);

// How many of a run's ranks may share one machine and its memory, judged by the number of its
// processors.
int64_t RanksBeside(int64_t processors, int threads_per_rank, int workers);

// A change to the run file, and the memory that the rank would then need.
struct Fit {
  std::string settings;  // "batch.micro_batch=2, batch.total_tokens=8192"
  int64_t bytes = 0;
};

// The first change that fits into `available_bytes`: micro-batches halved while that divides
// evenly, with the same total; then, with the smallest of them, recomputation, a chunked head, and
// both. Nullopt when none fits.
std::optional<Fit> SuggestFit(const RunSpec& spec, const BatchPlan& plan, int threads,
                              int64_t available_bytes, int workers = 0);

// The value for batch.micro_batch: auto: the largest power of two that divides the sequences of a
// shard and whose forecast fits; 0 when not even one sequence does. `plan` counts sequences, as
// PlanBatch does while micro_batch is auto.
int64_t LargestMicroBatch(const RunSpec& spec, const BatchPlan& plan, int threads,
                          int64_t available_bytes, int workers = 0);

// A message when the run does not fit, with the numbers and the change of SuggestFit: "a rank needs
// 3.10 GiB of memory (… bytes), 1.90 GiB are available (<limit>); batch.micro_batch=2, … would need
// 1.70 GiB". Nullopt when it fits.
std::optional<std::string> MemoryProblem(const RunSpec& spec, const BatchPlan& plan, int threads,
                                         int64_t available_bytes, const std::string& limit,
                                         int workers = 0);

}  // namespace gp::runspec

// What batch.micro_batch: auto stands for in a run: decided once from the memory of its first
// ranks, stored before it takes effect, and kept, because another cut of the batch rounds
// differently. Any thread; errors are TrainingErrors.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/engine/trainer/prepared_run.h"

namespace gp::engine {

// The key of a checkpoint's record.
inline constexpr char kMicroBatchRecord[] = "micro_batch";

// What an earlier process of the run settled on: from the checkpoint to resume from, else from the
// run's directory; 0 when nobody has.
int64_t SettledMicroBatch(const TrainingPlace& place);

// Durable when it returns. DataLoss of the reader names the file.
Status StoreMicroBatch(const std::string& run_directory, int64_t rows);

// The micro-batch of all ranks of a group: the run's own number, or what `auto` stands for. The
// choice of a fresh run is the largest power of two that fits the rank with the least memory; it is
// stored by rank 0 before any rank adopts it. A collective operation.
int64_t AgreeOnMicroBatch(const PreparedRun& run, const TrainingPlace& place,
                          Communicator& communicator);

}  // namespace gp::engine

// The value of batch.micro_batch: auto in a run. It is decided once from the memory of the first
// ranks and stored before it takes effect. It never changes, because another division of the batch
// rounds differently. Any thread; errors are TrainingErrors.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/trainer/prepared_run.h"

namespace gp::engine {

// The micro-batch that was chosen earlier: by an earlier process of the run (in the checkpoint to
// resume from, or in micro_batch.json in the run's directory), or by the run whose steps this one
// continues (init_data: keep), if it divides the batch. 0 if there is none. TrainingError(kStorage)
// names a damaged micro_batch.json.
int64_t RecordedMicroBatch(const PreparedRun& run, const TrainingPlace& place);

// Writes micro_batch.json. Durable on return.
Status StoreMicroBatch(const std::string& run_directory, int64_t rows);

// The micro-batch of all ranks of a group: the number in the run file, or the value for `auto`. The
// choice of a fresh run is the largest power of two that fits the rank with the least memory; it is
// stored by rank 0 before any rank adopts it. A collective operation.
int64_t AgreeOnMicroBatch(const PreparedRun& run, const TrainingPlace& place,
                          Communicator& communicator);

}  // namespace gp::engine

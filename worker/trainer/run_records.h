// RunRecords: the files that rank 0 writes into a run's directory during training: metrics.jsonl, a
// TensorBoard event file, samples.jsonl, resolved.yaml, budget.json (docs/formats/records.md).
// Records never stop a training: if one cannot be written, that is logged once and the others
// continue. Owned by the training; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/append_file.h"
#include "base/clock.h"
#include "base/status.h"
#include "contract/training_point.h"
#include "storage/storage.h"
#include "worker/engine/step/step_budget.h"

namespace gp::engine {

class RunRecords {
 public:
  // Opens the records of `run_directory`, which is created if missing, as they were after `step`
  // steps: drops what an earlier process wrote about later steps. A directory of an older version
  // is migrated (docs/formats/versions.md). FailedPrecondition when a newer gp wrote it.
  static StatusOr<RunRecords> Open(const std::string& run_directory, int64_t step,
                                   const Clock& clock);

  void WriteStep(const contract::TrainingPoint& point);
  // Also into the event file, as WriteResolved does with the values as hyperparameters.
  void WriteSample(int64_t step, const std::string& prompt, const std::string& text);
  void WriteResolved(const std::string& yaml);

 private:
  RunRecords(std::string run_directory, const Clock& clock, AppendFile metrics, AppendFile samples,
             AppendFile events);

  void Note(const Status& status);

  std::string run_directory_;
  const Clock* clock_;
  AppendFile metrics_;
  AppendFile samples_;
  AppendFile events_;
  bool warned_ = false;
};

// The number of steps in metrics.jsonl and their total time, without evaluations, samples and
// saves. Ignores lines that cannot be read.
struct RecordedSteps {
  int64_t count = 0;
  double seconds = 0;
};
RecordedSteps ReadRecordedSteps(const std::string& run_directory);

// The wall time converted to steps, as budget.json stores it; durable before use. 0 steps if there
// is none yet; DataLoss names a damaged file.
StatusOr<StepBudget> ReadStoredBudget(const std::string& run_directory);
Status StoreBudget(const Storage& storage, const std::string& run_directory,
                   const StepBudget& budget);

}  // namespace gp::engine

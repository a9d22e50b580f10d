// The cause with which a rank ends when its data cannot be used. By the cause the coordinator
// decides whether it retries the run and where (coordinator/scheduler/recovery.cc). Thread-safe.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "contract/exit_cause.h"
#include "plan/run_spec.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {

// kStorage when a read failed. kData when a file is missing on this node or the run may not read it
// here. Other problems: kData if the run has `begun`, because the data was good then; otherwise
// kConfig, because the run file names unusable data.
contract::ExitCause CauseOfUnusableData(const Status& status, bool begun);

// Throws a TrainingError of that cause unless `status` is OK.
void ThrowIfUnusable(const Status& status, bool begun);

template <typename T>
T UsableOrThrow(StatusOr<T> data, bool begun) {
  ThrowIfUnusable(data.status(), begun);
  return std::move(data).value();
}

// The files of the run that were modified after its checkpoint was saved, for a message:
// "; modified since: /data/a.txt". Names at most three; empty when there is no such file.
std::string FilesModifiedSince(const std::string& checkpoint, const runspec::RunSpec& spec);

}  // namespace gp::engine

// TrainingError: an error that ends a training. By its cause the coordinator decides whether the
// run is tried again (coordinator/scheduler/recovery.cc); it also gives the process's exit code
// (trainer/exit_code.h). Plain values; no thread rules.
#pragma once

#include <stdexcept>
#include <string>

#include "base/status.h"
#include "contract/exit_cause.h"

namespace gp::engine {

// REQUIRES: cause is one of kConfig, kStorage, kCollective, kError, kOutOfMemory, kUnfit,
// kDamagedCheckpoint, kData, kDiverged.
class TrainingError : public std::runtime_error {
 public:
  TrainingError(contract::ExitCause cause, const std::string& message)
      : std::runtime_error(message), cause_(cause) {}
  contract::ExitCause cause() const { return cause_; }

 private:
  contract::ExitCause cause_;
};

// Thrown when a stop interrupts a step. Not an error.
struct TrainingStopped {};

// Throws a TrainingError of `cause` unless `status` is OK.
inline void ThrowIfError(contract::ExitCause cause, const Status& status) {
  if (!status.ok()) throw TrainingError(cause, Message(status));
}

template <typename T>
T ValueOrThrow(contract::ExitCause cause, StatusOr<T> value) {
  ThrowIfError(cause, value.status());
  return std::move(value).value();
}

}  // namespace gp::engine

// TrainingError: an error that ends a training. Its cause decides whether the run is tried again,
// and the process's exit code. Plain values; no thread rules.
#pragma once

#include <stdexcept>
#include <string>

#include "base/status.h"
#include "contract/messages.h"

namespace gp::engine {

// REQUIRES: cause is one of kConfig, kStorage, kCollective, kError, kOutOfMemory, kUnfit,
// kDamagedCheckpoint, kData.
class TrainingError : public std::runtime_error {
 public:
  TrainingError(link::ExitCause cause, const std::string& message)
      : std::runtime_error(message), cause_(cause) {}
  link::ExitCause cause() const { return cause_; }

 private:
  link::ExitCause cause_;
};

// Thrown when a stop breaks a step off. Not an error.
struct TrainingStopped {};

// Throws a TrainingError of `cause` unless `status` is OK.
inline void ThrowIfError(link::ExitCause cause, const Status& status) {
  if (!status.ok()) throw TrainingError(cause, Message(status));
}

template <typename T>
T ValueOrThrow(link::ExitCause cause, StatusOr<T> value) {
  ThrowIfError(cause, value.status());
  return std::move(value).value();
}

}  // namespace gp::engine

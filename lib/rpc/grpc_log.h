// Writes gRPC's own log lines to this program's log, a few a minute at most: every failed handshake
// of an unknown client causes one. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/mutex.h"

namespace gp::rpc {

// Limits the number of lines per minute.
class LineBudget {
 public:
  // `clock` must outlive the budget.
  LineBudget(const Clock& clock, int lines_per_minute)
      : clock_(clock), lines_per_minute_(lines_per_minute) {}

  // How many lines were suppressed since the last one printed; nullopt: suppress this one too.
  std::optional<uint64_t> Take();

 private:
  const Clock& clock_;
  const int lines_per_minute_;
  Mutex mutex_;
  std::optional<MonotonicTime> minute_ GUARDED_BY(mutex_);  // when it began
  int taken_ GUARDED_BY(mutex_) = 0;                        // in the current minute
  uint64_t left_out_ GUARDED_BY(mutex_) = 0;
};

// From now on gRPC's errors are warnings in this program's log, ten a minute at most. Does nothing
// if GRPC_VERBOSITY or GRPC_TRACE is set, because then the user wants gRPC's whole log.
void InstallGrpcLog();

// From now on gRPC logs nothing, unless GRPC_VERBOSITY or GRPC_TRACE is set. For a program whose
// calls report every error themselves.
void DropGrpcLog();

}  // namespace gp::rpc

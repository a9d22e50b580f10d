// ExitCause: why a trainer process ended. What follows from each cause (retry, repair, end of the
// run) is decided in coordinator/scheduler/recovery.cc.
#pragma once

namespace gp::contract {

// Equal in number to gp.v1.ExitCause.
enum class ExitCause {
  kUnspecified = 0,
  kCompleted = 1,
  kStopped = 2,  // on request
  kSignal = 3,
  kOutOfMemory = 4,
  kCollective = 5,  // lost a peer; not its own fault
  kConfig = 6,      // bad settings: retrying cannot help
  kStorage = 7,     // a write or a read failed
  kError = 8,
  kSpawnFailed = 9,
  kUnfit = 10,              // this node cannot repeat the run's recorded numerical choices
  kDamagedCheckpoint = 11,  // according to this rank; another reader verifies it
  kData = 12,               // data is missing on this node, or is not what the run began with
  kStalled = 13,            // made no progress and was killed for it
  kDiverged = 14,           // the loss or a gradient was not finite, or much too high
};

}  // namespace gp::contract

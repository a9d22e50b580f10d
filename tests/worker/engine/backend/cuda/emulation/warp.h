// The lanes of one warp that wait for each other, and the results of a warp operation. Owned by the
// block runner; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "cuda_emulation/device_threads.h"

namespace gp::cuda_emulation {

// One lane's call of a warp operation.
struct WarpCall {
  WarpOperation operation = WarpOperation::kSync;
  unsigned int mask = 0;
  uint64_t value = 0;
  int argument = 0;
  int width = 32;
  Place place;
};

class Warp {
 public:
  void Clear() { waiting_ = 0; }

  // Registers a lane's call. Returns an error if the call is invalid, alone or together with those
  // of the waiting lanes; otherwise an empty string.
  std::string Arrive(int lane, const WarpCall& call);
  // Whether all lanes in the mask of `lane` are waiting.
  bool IsComplete(int lane) const;
  // Computes the results for all lanes in the mask of `lane` and ends their wait. Requires
  // IsComplete(lane). Returns an error if there is no result; otherwise an empty string.
  std::string Finish(int lane);

  uint64_t ResultOf(int lane) const { return results_[static_cast<size_t>(lane)]; }
  bool IsWaiting(int lane) const { return (waiting_ >> lane & 1u) != 0; }
  const WarpCall& CallOf(int lane) const { return calls_[static_cast<size_t>(lane)]; }

 private:
  std::string Conflict(int lane, const WarpCall& call, int other) const;
  int SourceOf(int lane) const;
  uint64_t LanesThatMatch(int lane) const;

  unsigned int waiting_ = 0;
  bool has_one_mask_ = true;  // all waiting lanes passed the same mask
  std::array<WarpCall, 32> calls_;
  std::array<uint64_t, 32> results_{};
};

}  // namespace gp::cuda_emulation

// The lanes of one warp that wait for each other, and the results of a warp operation. Owned by the
// block runner; one thread uses it.
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

  // Empty, or the problem with the call, alone or together with the calls of waiting lanes.
  std::string Arrive(int lane, const WarpCall& call);
  // Whether all lanes of the mask of `lane` wait.
  bool IsComplete(int lane) const;
  // Computes the results for the lanes in the mask of `lane`, which no longer wait. REQUIRES:
  // IsComplete(lane). Empty, or why there is no result.
  std::string Finish(int lane);

  uint64_t ResultOf(int lane) const { return results_[static_cast<size_t>(lane)]; }
  bool IsWaiting(int lane) const { return (waiting_ >> lane & 1u) != 0; }
  const WarpCall& CallOf(int lane) const { return calls_[static_cast<size_t>(lane)]; }

 private:
  std::string Conflict(int lane, const WarpCall& call, int other) const;
  int SourceOf(int lane) const;
  uint64_t LanesThatMatch(int lane) const;

  unsigned int waiting_ = 0;
  bool has_one_mask_ = true;  // all lanes that wait passed the same mask
  std::array<WarpCall, 32> calls_;
  std::array<uint64_t, 32> results_{};
};

}  // namespace gp::cuda_emulation

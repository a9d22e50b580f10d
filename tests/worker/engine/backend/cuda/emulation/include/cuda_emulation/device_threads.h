// What a kernel sees of the other threads of its block: indices, barriers, warp exchanges, votes.
// Each thread is a fiber (block_runner.h). Every call passes its source location, so that a thread
// that never arrives, or arrives elsewhere, is reported with its block, thread and line.
//
// Contains only operations that sm_75 has; __reduce_*_sync, which needs sm_80, is missing. Stricter
// than a device: a barrier needs every thread of the block and a warp operation every lane of its
// mask, all at the same line; a lane may only read lanes of the mask.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda_emulation/qualifiers.h"
#include "cuda_emulation/vector_types.h"

extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

namespace gp::cuda_emulation {

struct Place {
  const char* file = "";
  int line = 0;
};

enum class WarpOperation {
  kSync,
  kShuffle,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kBallot,
  kMatch
};

// Waits for all threads of the block; returns how many passed a nonzero predicate.
unsigned int WaitForBlock(bool predicate, Place place);

// Waits for all lanes of `mask`; returns this lane's result. `value` is the shuffled value, the
// predicate, or the value to match; `argument` is the second operand of a shuffle.
uint64_t WaitForWarp(WarpOperation operation, unsigned int mask, uint64_t value, int argument,
                     int width, Place place);

template <typename T>
T Shuffle(WarpOperation operation, unsigned int mask, T value, int argument, int width,
          Place place) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = WaitForWarp(operation, mask, bits, argument, width, place);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace gp::cuda_emulation

#define GP_PLACE_PARAMETERS const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define GP_PLACE \
  ::gp::cuda_emulation::Place { file, line }

inline void __syncthreads(GP_PLACE_PARAMETERS) {
  ::gp::cuda_emulation::WaitForBlock(false, GP_PLACE);
}
inline int __syncthreads_count(int predicate, GP_PLACE_PARAMETERS) {
  return static_cast<int>(::gp::cuda_emulation::WaitForBlock(predicate != 0, GP_PLACE));
}
inline int __syncthreads_or(int predicate, GP_PLACE_PARAMETERS) {
  return ::gp::cuda_emulation::WaitForBlock(predicate != 0, GP_PLACE) != 0 ? 1 : 0;
}
inline int __syncthreads_and(int predicate, GP_PLACE_PARAMETERS) {
  return ::gp::cuda_emulation::WaitForBlock(predicate == 0, GP_PLACE) == 0 ? 1 : 0;
}

inline void __syncwarp(unsigned int mask = 0xffffffffu, GP_PLACE_PARAMETERS) {
  using ::gp::cuda_emulation::WarpOperation;
  ::gp::cuda_emulation::WaitForWarp(WarpOperation::kSync, mask, 0, 0, warpSize, GP_PLACE);
}

#define GP_SHUFFLE(name, operation, operand)                                                   \
  template <typename T>                                                                        \
  T name(unsigned int mask, T value, operand argument, int width = warpSize,                   \
         GP_PLACE_PARAMETERS) {                                                                \
    return ::gp::cuda_emulation::Shuffle(::gp::cuda_emulation::WarpOperation::operation, mask, \
                                         value, static_cast<int>(argument), width, GP_PLACE);  \
  }
GP_SHUFFLE(__shfl_sync, kShuffle, int)
GP_SHUFFLE(__shfl_up_sync, kShuffleUp, unsigned int)
GP_SHUFFLE(__shfl_down_sync, kShuffleDown, unsigned int)
GP_SHUFFLE(__shfl_xor_sync, kShuffleXor, int)
#undef GP_SHUFFLE

inline unsigned int __ballot_sync(unsigned int mask, int predicate, GP_PLACE_PARAMETERS) {
  using ::gp::cuda_emulation::WarpOperation;
  return static_cast<unsigned int>(::gp::cuda_emulation::WaitForWarp(
      WarpOperation::kBallot, mask, predicate != 0 ? 1 : 0, 0, warpSize, GP_PLACE));
}
inline int __any_sync(unsigned int mask, int predicate, GP_PLACE_PARAMETERS) {
  return __ballot_sync(mask, predicate, file, line) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned int mask, int predicate, GP_PLACE_PARAMETERS) {
  return __ballot_sync(mask, predicate, file, line) == mask ? 1 : 0;
}
template <typename T>
unsigned int __match_any_sync(unsigned int mask, T value, GP_PLACE_PARAMETERS) {
  using ::gp::cuda_emulation::WarpOperation;
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return static_cast<unsigned int>(
      ::gp::cuda_emulation::WaitForWarp(WarpOperation::kMatch, mask, bits, 0, warpSize, GP_PLACE));
}

#undef GP_PLACE
#undef GP_PLACE_PARAMETERS

inline void __threadfence() {}
inline void __threadfence_block() {}

// Which elements a Dropout keeps. Every backend computes exactly this, so that a mask depends only
// on its key. Header only, standard library only; pure functions, thread-safe, for the host and for
// a CUDA device.
#pragma once

#include <cstdint>

#include "base/mix_bits.h"
#include "worker/engine/backend/backend.h"

// Always inlined: the kernels of each instruction set include this, and the linker must not merge
// their copies, because a processor may not support the instructions of another level.
#ifdef __CUDACC__
#define GP_ALWAYS_INLINE __host__ __device__ __forceinline__
#else
#define GP_ALWAYS_INLINE [[gnu::always_inline]] inline
#endif

namespace gp::engine {

// The part of the key that all masks of a micro-batch share.
GP_ALWAYS_INLINE uint64_t DropoutBatchKey(const Dropout& dropout) {
  uint64_t key = MixBits(dropout.seed);
  key = MixBits(key ^ dropout.step);
  return MixBits(key ^ (uint64_t{dropout.shard} << 32 | dropout.micro_batch));
}

// Reads *dropout.key, if there is one. Only for code that may read backend memory.
GP_ALWAYS_INLINE uint64_t DropoutSiteKey(const Dropout& dropout) {
  return MixBits((dropout.key != nullptr ? *dropout.key : DropoutBatchKey(dropout)) ^ dropout.site);
}

GP_ALWAYS_INLINE uint64_t DropoutRowKey(uint64_t site_key, uint64_t row) {
  return MixBits(site_key ^ row);
}

// An element is dropped when its hash is below this.
GP_ALWAYS_INLINE uint32_t DropoutThreshold(const Dropout& dropout) {
  return static_cast<uint32_t>(dropout.probability * 4294967296.0);
}

// The hash of one element: MurmurHash3's 32-bit finaliser over the column, keyed by the row.
GP_ALWAYS_INLINE uint32_t DropoutHash(uint64_t row_key, uint32_t column) {
  uint32_t x = column ^ static_cast<uint32_t>(row_key);
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return (x ^ (x >> 16)) ^ static_cast<uint32_t>(row_key >> 32);
}

// The factor for elements that are kept.
GP_ALWAYS_INLINE float DropoutScale(const Dropout& dropout) {
  return static_cast<float>(1.0 / (1.0 - dropout.probability));
}

#undef GP_ALWAYS_INLINE

}  // namespace gp::engine

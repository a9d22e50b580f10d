// MixBits: splitmix64 (Steele, Lea, Flood 2014, doi:10.1145/2714064.2660195), for numbers derived
// from keys. A bijection: every bit of the result depends on every bit of the value. Header only,
// standard library only, for the host and for a CUDA device. Pure functions, thread-safe. Runs
// depend on the results, which are therefore the same in every version.
#pragma once

#include <cstdint>

// Always inlined: the kernels of each instruction set include this, and the linker must not share
// their copies.
#ifdef __CUDACC__
#define GP_MIX_BITS_INLINE __host__ __device__ __forceinline__
#else
#define GP_MIX_BITS_INLINE [[gnu::always_inline]] inline
#endif

namespace gp {

// The generator's number i, counted from 0, for the seed s is MixBits(s + i * kMixBitsStep).
inline constexpr uint64_t kMixBitsStep = 0x9e3779b97f4a7c15u;

GP_MIX_BITS_INLINE uint64_t MixBits(uint64_t value) {
  value += kMixBitsStep;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

#undef GP_MIX_BITS_INLINE

}  // namespace gp

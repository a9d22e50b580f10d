// Rounding of fp32 to a 16-bit type, to nearest even or stochastically. Included by kernels.
#pragma once

#include "worker/engine/backend/cuda/kernels/vector_access.cuh"

namespace gp::engine {

// The random bits of one element: MurmurHash3's 32-bit finaliser over its index, keyed. The CPU's
// kernels compute the same (cpu/kernels/flat.h).
__device__ __forceinline__ uint32_t RoundingBits(const StochasticRounding& rounding,
                                                 int64_t index) {
  uint32_t x = static_cast<uint32_t>(rounding.first + index) ^ static_cast<uint32_t>(rounding.key);
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return (x ^ (x >> 16)) ^ static_cast<uint32_t>(rounding.key >> 32);
}

// Adds random bits below the ones that bf16 keeps, then truncates.
__device__ __forceinline__ void RoundStochastically(float value, uint32_t random,
                                                    __nv_bfloat16* out) {
  const uint32_t bits = __float_as_uint(value);
  const uint32_t kept = value == value ? (bits + (random & 0xffffu)) >> 16 : ((bits >> 16) | 0x40u);
  *out = __ushort_as_bfloat16(static_cast<unsigned short>(kept));
}

// The same for fp16, whose last place is 2^-24 for values below 2^-14. Values beyond 65504 become
// infinite, as when rounding to nearest.
__device__ __forceinline__ void RoundStochastically(float value, uint32_t random, __half* out) {
  constexpr float kSmallestNormal = 6.103515625e-05f;
  const uint32_t bits = __float_as_uint(value);
  float raised = __uint_as_float(bits + (random & 0x1fffu));
  if (fabsf(value) < kSmallestNormal) {
    raised = value + copysignf(static_cast<float>(random & 0x1fffu) * 0x1p-37f, value);
  }
  const bool ordinary = fabsf(value) <= 65504.0f;
  *out = ordinary ? __float2half_rz(raised) : __float2half_rn(value);
}

template <typename T>
__device__ __forceinline__ T Rounded(float value, const StochasticRounding& rounding,
                                     int64_t index) {
  if (!rounding.on) return FromFloat<T>(value);
  T out;
  RoundStochastically(value, RoundingBits(rounding, index), &out);
  return out;
}

// Rounds `values` and stores them as elements first..first + kCount - 1.
template <int kCount, typename T>
__device__ __forceinline__ void StoreRounded(T* to, const Floats<kCount>& values,
                                             const StochasticRounding& rounding, int64_t first) {
  T elements[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    elements[i] = Rounded<T>(values.lane[i], rounding, first + i);
  }
  StoreElements<kCount>(to + first, elements);
}

}  // namespace gp::engine

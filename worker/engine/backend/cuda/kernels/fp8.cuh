// Rounding to the 8-bit formats, on any device: cvt if available (sm_89), otherwise the same
// arithmetic, bit for bit. Included by kernels.
#pragma once

#include <cuda_runtime.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#include <cuda_fp8.h>
#endif

#include <cstdint>

#include "worker/engine/backend/cuda/kernels/fp8.h"

namespace gp::engine {

template <Fp8Format kFormat>
struct Fp8Layout {
  static constexpr int kMantissaBits = kFormat == Fp8Format::kE4m3 ? 3 : 2;
  static constexpr int kBias = kFormat == Fp8Format::kE4m3 ? 7 : 15;
  static constexpr uint32_t kLargestCode = kFormat == Fp8Format::kE4m3 ? 0x7e : 0x7b;
  static constexpr float kLargest = LargestOf(kFormat);
  static constexpr uint32_t kNan = 0x7f;
};

// To nearest even; larger values saturate at the largest number, NaN stays NaN.
template <Fp8Format kFormat>
__device__ __forceinline__ uint8_t ToFp8(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE,
                               kFormat == Fp8Format::kE4m3 ? __NV_E4M3 : __NV_E5M2);
#else
  using L = Fp8Layout<kFormat>;
  if (value != value) return L::kNan;
  const uint32_t bits = __float_as_uint(value);
  const uint32_t sign = bits >> 31 << 7;
  const float magnitude = fabsf(value);
  if (magnitude >= L::kLargest) return static_cast<uint8_t>(sign | L::kLargestCode);
  constexpr int kDropped = 23 - L::kMantissaBits;
  constexpr uint32_t kSmallestNormal = (127u + 1 - L::kBias) << 23;
  const uint32_t kept = bits & 0x7fffffffu;
  if (kept < kSmallestNormal) {
    // Subnormal: adding 2^(23 + exponent of the last place) rounds to that place.
    constexpr uint32_t kShifter = (127u + 24 - L::kBias - L::kMantissaBits) << 23;
    const float shifted = magnitude + __uint_as_float(kShifter);
    return static_cast<uint8_t>(sign | (__float_as_uint(shifted) - kShifter));
  }
  const uint32_t rounded = kept + ((1u << (kDropped - 1)) - 1) + (kept >> kDropped & 1u);
  const uint32_t code = (rounded >> kDropped) - ((127u - L::kBias) << L::kMantissaBits);
  return static_cast<uint8_t>(sign | code);
#endif
}

}  // namespace gp::engine

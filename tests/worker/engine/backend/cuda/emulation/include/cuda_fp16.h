// Emulates CUDA's half on the host: storage and conversions only, because kernels compute in float.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda_emulation/qualifiers.h"
#include "cuda_emulation/vector_types.h"

struct __half_raw {
  unsigned short x;
};

// IEEE binary16, rounded to nearest even; every NaN becomes 0x7fff, as on a device.
constexpr unsigned short GpHalfBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<unsigned short>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00;  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 moves the value into the lowest bits, in units of 2^-24.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<unsigned short>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<unsigned short>(sign | ((rounded - 0x38000000u) >> 13));
}

constexpr float GpHalfValue(unsigned short half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  }
  if (magnitude < 0x400u) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

struct __half {
  __half() = default;
  constexpr explicit __half(float value) : bits(GpHalfBits(value)) {}
  constexpr __half(__half_raw raw) : bits(raw.x) {}
  constexpr explicit operator float() const { return GpHalfValue(bits); }

  unsigned short bits;
};

struct alignas(4) __half2 {
  __half x;
  __half y;
};

constexpr __half __float2half(float value) { return __half(value); }
constexpr __half __float2half_rn(float value) { return __half(value); }
constexpr __half __float2half_rz(float value) {
  const __half nearest(value);
  const bool away = (value < 0 ? -1.0f : 1.0f) * (static_cast<float>(nearest) - value) > 0;
  return away ? __half(__half_raw{static_cast<unsigned short>(nearest.bits - 1)}) : nearest;
}
constexpr float __half2float(__half value) { return static_cast<float>(value); }
constexpr __half __ushort_as_half(unsigned short bits) { return __half(__half_raw{bits}); }
constexpr unsigned short __half_as_ushort(__half value) { return value.bits; }
constexpr __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
constexpr __half2 __float22half2_rn(float2 value) { return __floats2half2_rn(value.x, value.y); }
constexpr float2 __half22float2(__half2 value) {
  return {static_cast<float>(value.x), static_cast<float>(value.y)};
}

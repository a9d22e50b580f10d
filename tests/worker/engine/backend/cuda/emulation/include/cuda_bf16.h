// Emulates CUDA's bfloat16 on the host: storage and conversions only, because kernels compute in
// float.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda_emulation/qualifiers.h"
#include "cuda_emulation/vector_types.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};

// Rounds to nearest even; every NaN becomes 0x7fff, as on a device.
constexpr unsigned short GpBfloat16Bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  constexpr explicit __nv_bfloat16(float value) : bits(GpBfloat16Bits(value)) {}
  constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}
  constexpr explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

  unsigned short bits;
};

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x;
  __nv_bfloat16 y;
};

constexpr __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
constexpr __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
constexpr float __bfloat162float(__nv_bfloat16 value) { return static_cast<float>(value); }
constexpr __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16(__nv_bfloat16_raw{bits});
}
constexpr unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
constexpr __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
constexpr __nv_bfloat162 __float22bfloat162_rn(float2 value) {
  return __floats2bfloat162_rn(value.x, value.y);
}
constexpr float2 __bfloat1622float2(__nv_bfloat162 value) {
  return {static_cast<float>(value.x), static_cast<float>(value.y)};
}

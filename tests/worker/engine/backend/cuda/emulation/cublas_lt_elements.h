// Reference conversions between float and the element types of the emulated cuBLASLt: bf16, fp16,
// e4m3, e5m2 and fp32. Pure functions.
#pragma once

#include <library_types.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace gp::cuda_emulation {

inline int64_t ElementBytes(cudaDataType_t type) {
  if (type == CUDA_R_32F) return 4;
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2 ? 1 : 2;
}

inline bool IsFp8(cudaDataType_t type) { return ElementBytes(type) == 1; }

// Decodes a binary floating point number with `exponent` and `mantissa` bits below its sign. In
// e4m3 the top exponent also stands for numbers; only all ones is NaN.
inline float DecodeFloat(uint32_t bits, int exponent, int mantissa, bool has_infinity) {
  const uint32_t fraction = bits & ((1u << mantissa) - 1);
  const uint32_t power = bits >> mantissa & ((1u << exponent) - 1);
  const float sign = bits >> (exponent + mantissa) & 1 ? -1.0f : 1.0f;
  const int bias = (1 << (exponent - 1)) - 1;
  const bool top = power == (1u << exponent) - 1;
  if (top && has_infinity) {
    return fraction == 0 ? sign * std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  }
  if (top && fraction == (1u << mantissa) - 1) return std::numeric_limits<float>::quiet_NaN();
  const int shift = (power == 0 ? 1 : static_cast<int>(power)) - bias - mantissa;
  const uint32_t whole = fraction + (power == 0 ? 0 : 1u << mantissa);
  return sign * std::ldexp(static_cast<float>(whole), shift);
}

inline float LoadElement(const void* data, cudaDataType_t type, int64_t index) {
  const auto* bytes = static_cast<const unsigned char*>(data) + index * ElementBytes(type);
  if (type == CUDA_R_32F) {
    float value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  if (type == CUDA_R_8F_E4M3) return DecodeFloat(*bytes, 4, 3, false);
  if (type == CUDA_R_8F_E5M2) return DecodeFloat(*bytes, 5, 2, true);
  uint16_t half;
  std::memcpy(&half, bytes, sizeof(half));
  if (type == CUDA_R_16F) return DecodeFloat(half, 5, 10, true);
  return std::bit_cast<float>(uint32_t{half} << 16);
}

inline uint16_t EncodeBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Rounds to nearest even by counting in units of the last place.
inline uint16_t EncodeFp16(float value) {
  if (std::isnan(value)) return 0x7fff;
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  int power = -14;
  if (value != 0 && std::isfinite(value)) power = std::max(std::ilogb(value), -14);
  if (!std::isfinite(value) || power > 15) return static_cast<uint16_t>(sign | 0x7c00);
  const auto units = static_cast<uint32_t>(
      std::nearbyint(std::ldexp(std::abs(static_cast<double>(value)), 10 - power)));
  // A carry out of the mantissa increments the exponent, up to infinity, without further code.
  const uint32_t bits = units + (static_cast<uint32_t>(power + 14) << 10);
  return static_cast<uint16_t>(sign | bits);
}

inline void StoreElement(void* data, cudaDataType_t type, int64_t index, float value) {
  auto* bytes = static_cast<unsigned char*>(data) + index * ElementBytes(type);
  if (type == CUDA_R_32F) {
    std::memcpy(bytes, &value, sizeof(value));
    return;
  }
  const uint16_t half = type == CUDA_R_16F ? EncodeFp16(value) : EncodeBf16(value);
  std::memcpy(bytes, &half, sizeof(half));
}

}  // namespace gp::cuda_emulation

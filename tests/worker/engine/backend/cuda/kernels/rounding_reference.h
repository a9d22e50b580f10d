// Reference for kernel tests: rounding to a 16-bit type.
#pragma once

#include "worker/engine/backend/cuda/device_array.h"

namespace gp::engine {

// The random bits for one element, computed as in the CPU's kernels (cpu/kernels/flat.h).
inline uint32_t ReferenceRoundingBits(const StochasticRounding& rounding, int64_t index) {
  uint32_t x = static_cast<uint32_t>(rounding.first + index) ^ static_cast<uint32_t>(rounding.key);
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return (x ^ (x >> 16)) ^ static_cast<uint32_t>(rounding.key >> 32);
}

// `value` rounded to `type`. Stochastic rounding adds random bits (16 for bf16, 13 for fp16) below
// the last place of the magnitude and truncates the sum, so a carry gives the next larger value.
inline float RoundedByTheBook(float value, DataType type, const StochasticRounding& rounding,
                              int64_t index) {
  if (!rounding.on || std::isinf(value)) return FromBits(ToBits(value, type), type);
  const int random_bits = type == DataType::kBfloat16 ? 16 : 13;
  const uint32_t random = ReferenceRoundingBits(rounding, index) & ((1u << random_bits) - 1);
  uint16_t below = ToBits(std::abs(value), type);
  if (FromBits(below, type) > std::abs(value)) --below;
  const double low = FromBits(below, type);
  const double place = FromBits(static_cast<uint16_t>(below + 1), type) - low;
  const double fraction = (std::abs(value) - low) / place;
  const bool up = std::floor(fraction * (1 << random_bits)) + random >= (1 << random_bits);
  const float magnitude = FromBits(static_cast<uint16_t>(below + (up ? 1 : 0)), type);
  return std::copysign(magnitude, value);
}

}  // namespace gp::engine

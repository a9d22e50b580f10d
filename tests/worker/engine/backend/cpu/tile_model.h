// The arithmetic of tiles.h, one element at a time, from exact sums: what tiles and twin are
// compared with.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace gp::engine {

inline float Flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

// a * b + c, rounded once. A result is tiny if it is below 2^-126 when rounded to 24 bits without
// a limit of the exponent; such a result becomes 0.
inline float FlushingFma(float a, float b, float c) {
  a = Flushed(a);
  b = Flushed(b);
  c = Flushed(c);
  const float sum = std::fma(a, b, c);
  constexpr float kSmallestNormal = 0x1p-126f;
  if (!(std::abs(sum) < 2 * kSmallestNormal) || sum == 0) return sum;
  // The same sum at 2^64 times its size, where it has no denormals.
  const float small = std::abs(a) < std::abs(b) ? a : b;
  const float large = std::abs(a) < std::abs(b) ? b : a;
  const float scaled = std::fma(small * 0x1p64f, large, c * 0x1p64f);
  if (std::abs(scaled) < kSmallestNormal * 0x1p64f) return std::copysign(0.0f, sum);
  return scaled * 0x1p-64f;
}

inline float WidenedBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// c + the sum over k of a[k] b[k], in blocks of 32.
inline float TileSum(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, float c) {
  for (size_t first = 0; first < a.size(); first += 32) {
    std::array<float, 2> chains{};
    for (size_t k = first; k < first + 32; ++k) {
      const float left = k < a.size() ? WidenedBf16(a[k]) : 0;
      const float right = k < b.size() ? WidenedBf16(b[k]) : 0;
      chains[k % 2] = FlushingFma(left, right, chains[k % 2]);
    }
    c = FlushingFma(1, c, FlushingFma(1, chains[0], chains[1]));
  }
  return std::isnan(c) ? std::bit_cast<float>(0x7fc00000u) : c;
}

// Which bf16 values a test draws. Products of two tiny ones lie around the smallest normal number;
// special ones are zeros, infinities, denormals, NaN with any payload, and the largest numbers.
enum class DrawnValues { kNormal, kWide, kTiny, kSpecial, kAnyBits };
inline constexpr std::array kAllDrawnValues = {DrawnValues::kNormal, DrawnValues::kWide,
                                               DrawnValues::kTiny, DrawnValues::kSpecial,
                                               DrawnValues::kAnyBits};

inline uint16_t DrawBf16(DrawnValues kind, std::mt19937& random) {
  constexpr std::array<uint16_t, 12> kSpecials = {0x0000, 0x8000, 0x7f80, 0xff80, 0x0001, 0x807f,
                                                  0x7fc0, 0xffa5, 0x7f81, 0x7f7f, 0xff7f, 0x0080};
  const auto bits = static_cast<uint16_t>(random());
  const auto with_exponent = [&](int first, int count) {
    const int exponent = first + static_cast<int>(random() % static_cast<unsigned>(count));
    return static_cast<uint16_t>((bits & 0x807f) | (exponent << 7));
  };
  switch (kind) {
    case DrawnValues::kNormal:
      return with_exponent(120, 10);
    case DrawnValues::kWide:
      return with_exponent(1, 190);
    case DrawnValues::kTiny:
      return with_exponent(54, 16);
    case DrawnValues::kSpecial:
      return random() % 40 == 0 ? kSpecials[random() % kSpecials.size()] : with_exponent(120, 10);
    case DrawnValues::kAnyBits:
      break;
  }
  return bits;
}

inline std::vector<uint16_t> DrawBf16s(DrawnValues kind, int64_t count, std::mt19937& random) {
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& value : values) value = DrawBf16(kind, random);
  return values;
}

}  // namespace gp::engine

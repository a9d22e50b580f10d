#include "interop/float_type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace gp::interop {
namespace {

std::string Bytes(uint16_t half) {
  return {static_cast<char>(half & 0xff), static_cast<char>(half >> 8)};
}

float Widened(FloatType type, uint16_t half) {
  float value = 0;
  Widen(type, Bytes(half), {&value, 1});
  return value;
}

// The value by IEEE 754's definition of binary16: sign, exponent and mantissa.
double ByDefinition(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

TEST(FloatType, WidensEveryF16Exactly) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const float value = Widened(FloatType::kF16, static_cast<uint16_t>(half));
    if ((half >> 10 & 31) < 31) {
      ASSERT_EQ(value, ByDefinition(static_cast<uint16_t>(half))) << half;
      ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0) << half;
    } else if ((half & 1023) == 0) {
      ASSERT_TRUE(std::isinf(value)) << half;
    } else {
      ASSERT_TRUE(std::isnan(value)) << half;
    }
  }
}

TEST(FloatType, EveryBf16SurvivesWideningAndRounding) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const float value = Widened(FloatType::kBf16, static_cast<uint16_t>(half));
    std::string rounded;
    AppendAs(FloatType::kBf16, {&value, 1}, rounded);
    const bool quiet = std::isnan(value);
    ASSERT_EQ(rounded, Bytes(static_cast<uint16_t>(quiet ? half | 0x40 : half))) << half;
  }
}

TEST(FloatType, RoundsToNearestAndTiesToEven) {
  const auto rounded = [](uint32_t bits) {
    const float value = std::bit_cast<float>(bits);
    std::string bytes;
    AppendAs(FloatType::kBf16, {&value, 1}, bytes);
    return Widened(FloatType::kBf16,
                   static_cast<uint16_t>(static_cast<unsigned char>(bytes[0]) |
                                         static_cast<unsigned char>(bytes[1]) << 8));
  };
  // A tie, rounded down to even.
  EXPECT_EQ(std::bit_cast<uint32_t>(rounded(0x3f808000)), 0x3f800000u);
  // A tie, rounded up to even.
  EXPECT_EQ(std::bit_cast<uint32_t>(rounded(0x3f818000)), 0x3f820000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(rounded(0x3f808001)), 0x3f810000u);
}

TEST(FloatType, FindsTheFirstValueThatIsNotFinite) {
  std::vector<float> values = {1, -2, 3};
  EXPECT_EQ(FirstNotFinite(values), std::nullopt);
  values[1] = -std::numeric_limits<float>::infinity();
  values[2] = std::nanf("");
  EXPECT_EQ(FirstNotFinite(values), 1u);
}

}  // namespace
}  // namespace gp::interop

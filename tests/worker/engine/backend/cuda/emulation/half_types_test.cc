// Goal: conversions to bf16 and half round to nearest, ties to even, and converting back and forth
// keeps every value.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

double HalfByDefinition(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const int fraction = static_cast<int>(bits & 1023);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(EmulatedHalf, HasTheValuesOfBinary16) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    const double expected = HalfByDefinition(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value));
      ASSERT_EQ(__half_as_ushort(__float2half_rn(value)), 0x7fff);
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(__half_as_ushort(__float2half_rn(value)), bits);
    }
  }
}

// Between two neighbours: rounds to the nearer one; from the middle, to the even one.
TEST(EmulatedHalf, RoundsToNearestEven) {
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const double low = HalfByDefinition(bits);
    const double high = HalfByDefinition(bits + 1);
    const double middle = (low + high) / 2;  // exact in float
    const auto round = [](double value) {
      return __half_as_ushort(__float2half_rn(static_cast<float>(value)));
    };
    ASSERT_EQ(round(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(round(std::nextafterf(static_cast<float>(middle), 0)), bits);
    ASSERT_EQ(round(std::nextafterf(static_cast<float>(middle), 1e9f)), bits + 1);
  }
  EXPECT_EQ(__half_as_ushort(__float2half_rn(65520.0f)), 0x7c00);
  EXPECT_EQ(__half_as_ushort(__float2half_rn(65519.99f)), 0x7bff);
  EXPECT_EQ(__half_as_ushort(__float2half_rn(-1e30f)), 0xfc00);
}

TEST(EmulatedHalf, RoundsTowardsZero) {
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<float>(HalfByDefinition(bits));
    const auto high = static_cast<float>(HalfByDefinition(bits + 1));
    for (const float value : {low, (low + high) / 2, std::nextafterf(high, 0)}) {
      ASSERT_EQ(__half_as_ushort(__float2half_rz(value)), bits);
      ASSERT_EQ(__half_as_ushort(__float2half_rz(-value)), bits | 0x8000u);
    }
  }
  EXPECT_EQ(__half_as_ushort(__float2half_rz(1e30f)), 0x7bff);
}

TEST(EmulatedBfloat16, RoundsToNearestEven) {
  const auto round = [](float value) { return __bfloat16_as_ushort(__float2bfloat16_rn(value)); };
  for (unsigned bits = 0; bits < 0x7f7f; ++bits) {
    const float low = std::bit_cast<float>(bits << 16);
    const float middle = std::bit_cast<float>(bits << 16 | 0x8000u);
    ASSERT_EQ(round(low), bits);
    ASSERT_EQ(round(-low), bits | 0x8000u);
    ASSERT_EQ(round(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(round(std::bit_cast<float>(bits << 16 | 0x7fffu)), bits);
    ASSERT_EQ(round(std::bit_cast<float>(bits << 16 | 0x8001u)), bits + 1);
  }
  EXPECT_EQ(round(std::nanf("")), 0x7fff);
  EXPECT_EQ(round(std::numeric_limits<float>::infinity()), 0x7f80);
}

}  // namespace

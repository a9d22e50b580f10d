#include "base/mix_bits.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

// The first outputs of Vigna's splitmix64.c for the seeds 0 and 1234567.
TEST(MixBits, GivesThePublishedNumbers) {
  EXPECT_EQ(MixBits(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(MixBits(kMixBitsStep), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(MixBits(2 * kMixBitsStep), 0x06c45d188009454fu);
  EXPECT_EQ(MixBits(1234567), 6457827717110365317u);
}

}  // namespace
}  // namespace gp

#include "client/gpctl/terminal/number_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gp::gpctl {
namespace {

TEST(NumberText, ReadsWell) {
  EXPECT_EQ(CompactCount(950), "950");
  EXPECT_EQ(CompactCount(48231), "48.2k");
  EXPECT_EQ(CompactCount(999999), "1.00M");
  EXPECT_EQ(CompactCount(3.86e9), "3.86B");
  EXPECT_EQ(Bytes(1023), "1023 B");
  EXPECT_EQ(Bytes(1536), "1.5 KiB");
  EXPECT_EQ(Bytes((1 << 20) - 1), "1.0 MiB") << "not 1024.0 KiB";
  EXPECT_EQ(DurationText(0.2), "0s");
  EXPECT_EQ(DurationText(59.7), "1m00s");
  EXPECT_EQ(DurationText(3780), "1h03m");
  EXPECT_EQ(DurationText(-1), "-");
  EXPECT_EQ(DurationText(NAN), "-");
  EXPECT_EQ(StepTimeText(0.1284), "128 ms");
  EXPECT_EQ(StepTimeText(2.5), "2.5 s");
  EXPECT_EQ(StepTimeText(200), "3m20s");
  EXPECT_EQ(StepTimeText(-1), "-");
  EXPECT_EQ(StepTimeText(NAN), "-");
  EXPECT_EQ(DateTimeText(1763716440), "2025-11-21T09:14:00Z");
  EXPECT_EQ(PreciseTimeText(1763716440, 7'999'999), "2025-11-21T09:14:00.007Z");
}

}  // namespace
}  // namespace gp::gpctl

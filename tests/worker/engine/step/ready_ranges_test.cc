#include "worker/engine/step/ready_ranges.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace gp::engine {
namespace {

bool IsReadable(const ReadyRanges& ranges) {
  pollfd entry{ranges.fd(), POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

TEST(ReadyRanges, IsReadableAsLongAsThereIsSomethingToTake) {
  ReadyRanges ranges;
  EXPECT_FALSE(IsReadable(ranges));
  EXPECT_EQ(ranges.Take(), std::nullopt);
  ranges.Post({4, 8});
  ranges.Post({0, 4});
  EXPECT_TRUE(IsReadable(ranges));
  EXPECT_EQ(ranges.Take(), (GradientRange{4, 8}));
  EXPECT_TRUE(IsReadable(ranges));
  EXPECT_EQ(ranges.Take(), (GradientRange{0, 4}));
  EXPECT_FALSE(IsReadable(ranges));
  EXPECT_FALSE(ranges.ended());
}

TEST(ReadyRanges, WhatWasPostedBeforeTheEndIsStillTaken) {
  ReadyRanges ranges;
  ranges.Post({0, 4});
  ranges.Close();
  ranges.Post({4, 8});
  EXPECT_FALSE(ranges.ended());
  EXPECT_EQ(ranges.Take(), (GradientRange{0, 4}));
  EXPECT_TRUE(ranges.ended());
  EXPECT_TRUE(IsReadable(ranges)) << "the end wakes who waits";
}

}  // namespace
}  // namespace gp::engine

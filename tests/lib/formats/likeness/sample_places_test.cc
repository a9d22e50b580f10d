#include "formats/likeness/sample_places.h"

#include <gmock/gmock.h>

#include "formats/likeness/likeness.h"

namespace gp::formats {
namespace {

TEST(SamplePlaces, AreNoneOfASmallFile) {
  EXPECT_TRUE(SamplePlaces(0).empty());
  EXPECT_TRUE(SamplePlaces(kLikenessBytes).empty());
}

TEST(SamplePlaces, CoverAFileOfAFewPieces) {
  for (const uint64_t size : {kLikenessBytes + 1, 2 * kLikenessBytes, 5 * kLikenessBytes + 7}) {
    uint64_t covered = kLikenessBytes;
    for (const uint64_t place : SamplePlaces(size)) {
      EXPECT_LE(place, covered) << size;
      EXPECT_EQ(place % 24, 0) << size;
      covered = place + kLikenessBytes;
    }
    EXPECT_GE(covered, size);
  }
}

TEST(SamplePlaces, AreSpreadOverALargeFileAndReachItsEnd) {
  constexpr uint64_t kSize = uint64_t{5} << 30;
  const auto places = SamplePlaces(kSize);
  ASSERT_EQ(places.size(), 7);
  EXPECT_GE(places.back() + kLikenessBytes, kSize);
  EXPECT_LT(places.back(), kSize);
  EXPECT_NEAR(static_cast<double>(places[3]), static_cast<double>(kSize) * 4 / 7, 1 << 20);
}

}  // namespace
}  // namespace gp::formats

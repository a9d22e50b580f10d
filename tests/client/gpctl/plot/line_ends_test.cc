#include "client/gpctl/plot/line_ends.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gp::gpctl {
namespace {

using Places = std::vector<double>;

TEST(LineEnds, KeepsPlacesThatHaveRoom) {
  EXPECT_EQ(SpreadPlaces({10, 100, 50}, 16, 0, 200), (Places{10, 100, 50}));
  EXPECT_EQ(SpreadPlaces({}, 16, 0, 200), Places{});
}

TEST(LineEnds, MovesCloseOnesApartAroundTheirMean) {
  EXPECT_EQ(SpreadPlaces({100, 100}, 16, 0, 200), (Places{92, 108}));
  EXPECT_EQ(SpreadPlaces({104, 100, 102}, 16, 0, 200), (Places{118, 86, 102}));
}

TEST(LineEnds, StaysInsideTheEdges) {
  EXPECT_EQ(SpreadPlaces({0, 0, 0}, 16, 0, 200), (Places{0, 16, 32}));
  EXPECT_EQ(SpreadPlaces({200, 200}, 16, 0, 200), (Places{184, 200}));
}

TEST(LineEnds, NeverOverlaps) {
  Places places;
  for (int i = 0; i < 16; ++i) places.push_back((i * 37) % 60);
  Places spread = SpreadPlaces(places, 16, 0, 380);
  std::sort(spread.begin(), spread.end());
  EXPECT_GE(spread.front(), 0);
  EXPECT_LE(spread.back(), 380);
  for (size_t i = 1; i < spread.size(); ++i) EXPECT_GE(spread[i] - spread[i - 1], 16 - 1e-9);
}

TEST(LineEnds, SharesTheRoomWhenThereIsTooLittle) {
  EXPECT_EQ(SpreadPlaces({5, 5, 5}, 16, 0, 10), (Places{0, 5, 10}));
}

}  // namespace
}  // namespace gp::gpctl

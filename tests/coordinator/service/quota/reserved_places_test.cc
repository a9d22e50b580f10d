#include "coordinator/service/quota/reserved_places.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

// How many places of the user are reserved now.
int Reserved(ReservedPlaces& places, const std::string& user) {
  int found = -1;
  const auto refused = places.Reserve(user, 1, [&](int reserved) {
    found = reserved;
    return ResourceExhausted("only counted");
  });
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  return found;
}

TEST(ReservedPlaces, CountUntilTheyAreReleasedOrDestroyed) {
  ReservedPlaces places;
  const auto agree = [](int) { return OkStatus(); };
  const auto one = places.Reserve("ann", 1, agree);
  {
    const auto three = places.Reserve("ann", 3, agree);
    EXPECT_EQ(Reserved(places, "ann"), 4);
    EXPECT_EQ(Reserved(places, "bob"), 0);
  }
  EXPECT_EQ(Reserved(places, "ann"), 1);
  (*one)->Release();
  EXPECT_EQ(Reserved(places, "ann"), 0);
  (*one)->Release();
  EXPECT_EQ(Reserved(places, "ann"), 0) << "it was released twice";
}

}  // namespace
}  // namespace gp::coordinator

// Goal: the parts of a gradient cover it exactly once and end at cache-line boundaries.
#include "worker/engine/collectives/tree_plan.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

TEST(PartOf, EndsAtCacheLinesButForTheLastOne) {
  const auto bounds = [](size_t count, size_t part, size_t parts) {
    const ElementRange range = PartOf(count, part, parts);
    return std::pair(range.begin, range.end);
  };
  using Bounds = std::pair<size_t, size_t>;
  EXPECT_EQ(bounds(100, 0, 3), Bounds(0, 32));
  EXPECT_EQ(bounds(100, 1, 3), Bounds(32, 64));
  EXPECT_EQ(bounds(100, 2, 3), Bounds(64, 100));
  EXPECT_EQ(bounds(100, 0, 1), Bounds(0, 100));
  EXPECT_EQ(bounds(7, 0, 2), Bounds(0, 0)) << "less than a line is one rank's";
  EXPECT_EQ(bounds(7, 1, 2), Bounds(0, 7));
}

}  // namespace
}  // namespace gp::engine

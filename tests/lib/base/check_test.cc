#include "base/check.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(Check, PassesWithoutEvaluatingItsMessage) {
  int evaluated = 0;
  GP_CHECK(true, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(CheckDeathTest, DiesWithPlaceConditionAndMessage) {
  const int rank = 4;
  const int size = 4;
  EXPECT_DEATH(GP_CHECK(rank < size, "rank {} of {}", rank, size),
               "check_test.cc:[0-9]+: check failed: rank < size rank 4 of 4");
  EXPECT_DEATH(GP_CHECK(rank < size), "check failed: rank < size");
}

}  // namespace
}  // namespace gp

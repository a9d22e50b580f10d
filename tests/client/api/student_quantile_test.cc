#include "client/api/student_quantile.h"

#include <gtest/gtest.h>

namespace gp::client {
namespace {

TEST(StudentQuantile, IsThatOfTheTableOrLarger) {
  EXPECT_EQ(StudentQuantile(1), 12.71);
  EXPECT_EQ(StudentQuantile(10), 2.228);
  EXPECT_EQ(StudentQuantile(11), 2.228) << "fewer degrees of freedom";
  EXPECT_EQ(StudentQuantile(1'000'000), 1.962);
}

}  // namespace
}  // namespace gp::client

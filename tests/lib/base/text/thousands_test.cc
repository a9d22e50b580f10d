#include "base/text/thousands.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(WithThousands, HasACommaAfterEachThreeDigits) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(7362), "7,362");
  EXPECT_EQ(WithThousands(524288), "524,288");
  EXPECT_EQ(WithThousands(-1234567), "-1,234,567");
  EXPECT_EQ(WithThousands(INT64_MIN), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace gp

#include "base/text/namespace_name.h"

#include <gtest/gtest.h>

#include <string>

namespace gp {
namespace {

TEST(NamespaceName, IsShortAndPlain) {
  for (const char* good : {"a", "default", "team-7", "0.x_y"}) {
    EXPECT_TRUE(IsNamespaceName(good)) << good;
  }
  EXPECT_TRUE(IsNamespaceName(std::string(63, 'a')));
  for (const std::string& bad :
       {std::string(), std::string(kEveryNamespace), std::string("-a"), std::string("A"),
        std::string("a/b"), std::string("a b"), std::string("a\x1b[2J"), std::string(64, 'a')}) {
    EXPECT_FALSE(IsNamespaceName(bad)) << bad;
  }
}

}  // namespace
}  // namespace gp

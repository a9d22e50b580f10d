#include "base/typed_id.h"

#include <gtest/gtest.h>

#include <set>
#include <type_traits>
#include <unordered_set>

namespace gp {
namespace {

using RunId = TypedId<struct RunTag>;
using NodeId = TypedId<struct NodeTag>;

TEST(TypedId, KindsDoNotMix) {
  EXPECT_FALSE((std::is_convertible_v<RunId, NodeId>));
  EXPECT_FALSE((std::is_constructible_v<NodeId, RunId>));
  EXPECT_FALSE((std::is_convertible_v<std::string, RunId>));
}

TEST(TypedId, ComparesByItsText) {
  EXPECT_EQ(RunId("a"), RunId("a"));
  EXPECT_LT(RunId("a"), RunId("b"));
  EXPECT_TRUE(RunId().empty());
  EXPECT_EQ((std::set<RunId>{RunId("b"), RunId("a")}.begin()->value()), "a");
}

TEST(TypedId, HashesAndPrints) {
  const std::unordered_set<RunId> runs{RunId("a"), RunId("a"), RunId("b")};
  EXPECT_EQ(runs.size(), 2u);
  EXPECT_EQ(fmt::format("run={} {:>4}", RunId("7f3k"), RunId("a")), "run=7f3k    a");
}

}  // namespace
}  // namespace gp

#include "client/api/label_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace gp::client {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Adds the labels to a list request and returns its labels, or {"error": message}.
std::map<std::string, std::string> Added(const std::vector<std::string>& labels) {
  v1::ListRequest list;
  for (const std::string& label : labels) {
    const Status status = AddLabel(label, list);
    if (!status.ok()) return {{"error", Message(status)}};
  }
  return {list.labels().begin(), list.labels().end()};
}

TEST(LabelFilter, IsAKeyAndAValue) {
  EXPECT_THAT(Added({"team=blue", "n="}), ElementsAre(Pair("n", ""), Pair("team", "blue")));
  EXPECT_THAT(Added({"team=blue", "team=blue"}), ElementsAre(Pair("team", "blue")));
  for (const std::string wrong : {"", "team", "=x"}) {
    EXPECT_EQ(Added({wrong})["error"],
              "expected KEY=VALUE, such as team=research, not '" + wrong + "'");
  }
}

TEST(LabelFilter, KeysAndValuesMayHoldAnEqualsSign) {
  EXPECT_THAT(Added({"k=x=y"}), ElementsAre(Pair("k", "x=y")));
  EXPECT_THAT(Added({"a=b=1", "a=c=2"}), ElementsAre(Pair("a", "b=1"), Pair("a=c", "2")));
}

TEST(LabelFilter, TwoValuesOfOneKeyAreRefused) {
  EXPECT_EQ(Added({"team=a", "team=b"})["error"],
            "a run has one value of 'team', but two were given: 'a' and 'b'");
}

}  // namespace
}  // namespace gp::client

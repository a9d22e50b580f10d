// Goal: a name or an id refers to the right node, or the error says why it refers to none.
#include "coordinator/service/node_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

class NodeReference : public ::testing::Test {
 protected:
  void Do(const EventBody& body) { ASSERT_TRUE(Apply({.body = body}, cluster_).ok()); }
  void Hello(const std::string& id, const std::string& name) {
    NodeConnected hello;
    hello.node = NodeId(id);
    hello.name = name;
    Do(hello);
  }
  Status Resolve(const std::string& reference) { return ResolveNode(cluster_, reference).status(); }

  Cluster cluster_;
};

TEST_F(NodeReference, IsAnIdOrAName) {
  Hello("n1", "node-a");
  Hello("n2", "twin");
  Hello("n3", "twin");
  EXPECT_EQ((*ResolveNode(cluster_, "node-a"))->id, NodeId("n1"));
  EXPECT_EQ((*ResolveNode(cluster_, "n3"))->id, NodeId("n3"));
  EXPECT_EQ(Resolve("twin").code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(Resolve("twin")), HasSubstr("n2, n3"));
  EXPECT_EQ(Resolve("node-b").code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(Resolve("node-b")), HasSubstr("did you mean 'node-a'?"));
  EXPECT_EQ(Resolve("").code(), StatusCode::kNotFound);
  Do(NodeCordoned{NodeId("n4"), "away", false, ""});
  EXPECT_TRUE(Resolve("away").ok()) << "its agent was not seen since the coordinator started";
}

}  // namespace
}  // namespace gp::coordinator

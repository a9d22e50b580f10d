// Goal: no text of a user, an agent or a trainer controls a terminal, reorders a line or forges
// one, in any field.
#include "client/api/safe_message.h"

#include <gtest/gtest.h>

#include "gp/v1/run_service.pb.h"

namespace gp::client {
namespace {

constexpr char kAttack[] =
    "a\x1b]0;owned\x07\x1b[2J\xc2\x9b"
    "31m\x7f\xe2\x80\xae"
    "b\xe2\x81\xa6\xe2\x80\xa8\xff\r\n\tc";
constexpr char kOneLine[] = "a�]0;owned��[2J�31m��b������c";
constexpr char kLines[] = "a�]0;owned��[2J�31m��b����\n\tc";

TEST(MakeSafeToShow, NamesLoseEverythingThatIsNoPlainTextOfOneLine) {
  v1::Run run;
  run.set_name(kAttack);
  run.set_namespace_(kAttack);
  run.add_placement()->set_node_name(kAttack);
  MakeSafeToShow(run);
  EXPECT_EQ(run.name(), kOneLine);
  EXPECT_EQ(run.namespace_(), kOneLine);
  EXPECT_EQ(run.placement(0).node_name(), kOneLine);
}

TEST(MakeSafeToShow, LongerTextsKeepTheirLines) {
  v1::SubmitResponse response;
  response.mutable_run()->set_reason(kAttack);
  response.mutable_run()->set_source("name: é 漢字 \U0001F600\n");
  response.add_warnings(kAttack);
  MakeSafeToShow(response);
  EXPECT_EQ(response.run().reason(), kLines);
  EXPECT_EQ(response.run().source(), "name: é 漢字 \U0001F600\n");
  EXPECT_EQ(response.warnings(0), kLines);
}

TEST(MakeSafeToShow, ReachesMapsAndWhatIsBelowThem) {
  v1::Run run;
  (*run.mutable_labels())[kAttack] = kAttack;
  MakeSafeToShow(run);
  ASSERT_EQ(run.labels_size(), 1);
  EXPECT_EQ(run.labels().begin()->first, kOneLine);
  EXPECT_EQ(run.labels().begin()->second, kLines);
}

TEST(MakeSafeToShow, OrdinaryMessagesStayAsTheyAre) {
  v1::NodesResponse nodes;
  v1::Node& node = *nodes.add_nodes();
  node.set_name("node-a");
  node.add_slots()->set_device_name("NVIDIA H100 80GB HBM3");
  const std::string before = nodes.SerializeAsString();
  MakeSafeToShow(nodes);
  EXPECT_EQ(nodes.SerializeAsString(), before);
}

}  // namespace
}  // namespace gp::client

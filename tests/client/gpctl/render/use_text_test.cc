#include "client/gpctl/render/use_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gpctl/render/node_text.h"
#include "client/gpctl/screen/scene.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(UseText, NamesCoresMemoryAndDisk) {
  v1::ResourceUse use;
  use.set_cores(1.94);
  use.set_memory_bytes(5 * kGiB / 4);
  EXPECT_EQ(UseText(use), "1.9 cores, 1.2 GiB");
  v1::Node node;
  node.mutable_load()->set_cores(4);
  node.mutable_load()->set_busy_cores(3.84);
  node.mutable_load()->set_memory_bytes(16 * kGiB);
  node.mutable_load()->set_available_memory_bytes(10 * kGiB);
  node.mutable_load()->set_storage_bytes(500 * kGiB);
  node.mutable_load()->set_free_storage_bytes(125 * kGiB);
  EXPECT_EQ(CoresText(node), "3.8 of 4");
  EXPECT_EQ(MemoryText(node), "6.0 of 16.0 GiB");
  EXPECT_EQ(FreeDiskText(node), "125.0 GiB");
  EXPECT_EQ(DiskShare(node), 0.75);
  EXPECT_EQ(MemoryShare(node), 0.375);
  EXPECT_EQ(CoresShare(node), 0.96);
}

TEST(UseText, WhatIsNotReportedIsUnknownAndNotZero) {
  v1::Node node;
  EXPECT_EQ(CoresText(node), "-");
  EXPECT_EQ(MemoryText(node), "-");
  EXPECT_EQ(FreeDiskText(node), "-");
  node.mutable_load()->set_cores(4);  // an older agent
  EXPECT_EQ(CoresText(node), "-");
  node.mutable_load()->set_memory_bytes(kGiB);
  node.mutable_load()->set_busy_cores(-1);
  EXPECT_EQ(CoresText(node), "-");
  EXPECT_LT(CoresShare(node), 0);
  node.mutable_load()->set_busy_cores(0);
  EXPECT_EQ(CoresText(node), "0.0 of 4");
}

TEST(NodeTable, ShowsTheLoadOfMachinesAndWhatTrainersUse) {
  v1::NodesResponse nodes;
  for (const v1::Node& node : testing::SceneNodes()) *nodes.add_nodes() = node;
  const std::string text = NodeTable(nodes, testing::kSceneNow, {0, true});
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "NODE    SLOT  DEVICE    CORES     MEMORY           DISK FREE  STATE\n"
                        "node-a        gp 0.1.0  3.8 of 4  6.0 of 16.0 GiB  120.0 GiB  connected\n"
                        "        cpu   2 slots   3.8       2.5 GiB                     2 busy\n"));
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "node-d        gp 0.1.0  -         -                -          cordoned"));
}

}  // namespace
}  // namespace gp::gpctl

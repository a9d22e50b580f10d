#include "client/gpctl/render/use_text.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(DiskText(node), "125.0 GiB free");
  EXPECT_EQ(DiskShare(node), 0.75);
  EXPECT_EQ(MemoryShare(node), 0.375);
  EXPECT_EQ(CoresShare(node), 0.96);
}

TEST(UseText, WhatIsNotReportedIsUnknownAndNotZero) {
  v1::Node node;
  EXPECT_EQ(CoresText(node), "-");
  EXPECT_EQ(MemoryText(node), "-");
  EXPECT_EQ(DiskText(node), "-");
  node.mutable_load()->set_cores(4);  // an older agent
  EXPECT_EQ(CoresText(node), "-");
  node.mutable_load()->set_memory_bytes(kGiB);
  node.mutable_load()->set_busy_cores(-1);
  EXPECT_EQ(CoresText(node), "-");
  EXPECT_LT(CoresShare(node), 0);
  node.mutable_load()->set_busy_cores(0);
  EXPECT_EQ(CoresText(node), "0.0 of 4");
}

}  // namespace
}  // namespace gp::gpctl

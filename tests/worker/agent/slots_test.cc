#include "worker/agent/slots.h"

#include <gtest/gtest.h>

namespace gp::agent {
namespace {

TEST(Slots, CutTheCoresIntoContiguousRanges) {
  const auto slots = CutCpuSlots(3, {0, 1, 2, 3, 8, 9, 10, 11}, 3000);
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots[0].cores, (std::vector<int>{0, 1}));
  EXPECT_EQ(slots[1].cores, (std::vector<int>{2, 3, 8}));
  EXPECT_EQ(slots[2].cores, (std::vector<int>{9, 10, 11}));
  EXPECT_EQ(slots[1].id, "cpu-1");
  EXPECT_EQ(slots[1].memory_bytes, 1000u);
}

TEST(Slots, ShareCoresWhenThereAreMoreSlots) {
  const auto slots = CutCpuSlots(4, {0, 1}, 0);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(slots[static_cast<size_t>(i)].cores, std::vector{i % 2});
}

TEST(Slots, AreFoundByName) {
  const SlotTable slots(CutCpuSlots(2, {0}, 0));
  ASSERT_NE(slots.Find("cpu-1"), nullptr);
  EXPECT_EQ(slots.Find("cpu-2"), nullptr);
  EXPECT_EQ(slots.Names(), "cpu-0, cpu-1");
}

TEST(Slots, GpusAreNamedByTheirNumberAndShareTheCores) {
  const auto slots = MakeGpuSlots({{.index = 0, .uuid = "MIG-x", .name = "A100"},
                                   {.index = 0, .uuid = "MIG-y", .name = "A100"},
                                   {.index = 3, .uuid = "GPU-z", .memory_bytes = 7}},
                                  {0, 1, 2, 3, 4, 5});
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots[0].id, "gpu-0.0");
  EXPECT_EQ(slots[1].id, "gpu-0.1");
  EXPECT_EQ(slots[1].cores, (std::vector<int>{2, 3}));
  EXPECT_EQ(slots[2].id, "gpu-3");
  EXPECT_EQ(slots[2].device, "GPU-z");
  EXPECT_EQ(slots[2].memory_bytes, 7u);
  EXPECT_TRUE(slots[2].is_gpu());
}

TEST(Slots, AnUnhealthyOneIsNotFree) {
  SlotTable slots(CutCpuSlots(4, {0}, 0));
  slots.SetHealth({{"cpu-0", {true, "gone"}}, {"cpu-1", {true, "gone"}}});
  const SlotCounts counts = slots.Count({"cpu-0", "cpu-2"});
  EXPECT_EQ(counts.busy, 2u) << "a trainer still runs on one that is not healthy";
  EXPECT_EQ(counts.unusable, 1u);
  EXPECT_EQ(counts.free, 1u);
}

TEST(Slots, TheirHealthIsReplacedWhole) {
  SlotTable slots(CutCpuSlots(2, {0}, 0));
  EXPECT_TRUE(slots.SetHealth({{"cpu-0", {true, "gone"}}}));
  EXPECT_FALSE(slots.SetHealth({{"cpu-0", {true, "gone"}}}));
  EXPECT_TRUE(slots.SetHealth({{"cpu-1", {false, "no program"}}}));
  EXPECT_EQ(slots.Find("cpu-0")->health, SlotHealth{});
  EXPECT_EQ(slots.Find("cpu-1")->health.problem, "no program");
}

TEST(Slots, KeepToTheirCoresUnlessALimitLetsFewerRunAtOnce) {
  const NodeCores whole = ChooseCores({4, 5, 6}, 3);
  EXPECT_EQ(whole.cores, (std::vector<int>{4, 5, 6}));
  EXPECT_TRUE(whole.pinned);
  const NodeCores limited = ChooseCores({4, 5, 6}, 2);
  EXPECT_EQ(limited.cores.size(), 2u);
  EXPECT_FALSE(limited.pinned) << "another pod of the machine would choose the same two";
}

TEST(Slots, ThisMachineHasMemory) { EXPECT_GT(MemoryBytes(), uint64_t{1} << 20); }

}  // namespace
}  // namespace gp::agent

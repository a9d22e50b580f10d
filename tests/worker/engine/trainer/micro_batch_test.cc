#include "worker/engine/trainer/micro_batch.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gp::engine {
namespace {

TEST(MicroBatch, RanksThatFitOnTheMachineShareItsMemory) {
  const AvailableMemory machine{.bytes = 1 << 20, .limit = "MemAvailable"};
  const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(MemoryOfARank(machine, 1, 1).bytes, 1 << 20);
  EXPECT_EQ(MemoryOfARank(machine, processors, 1).bytes, (1 << 20) / processors);
  // Ranks that use all processors are on other machines.
  EXPECT_EQ(MemoryOfARank(machine, 8, processors).bytes, 1 << 20);
  EXPECT_EQ(MemoryOfARank(machine, 8, 2 * processors).bytes, 1 << 20);
  EXPECT_EQ(MemoryOfARank(machine, 8, 0).limit, "MemAvailable");
}

}  // namespace
}  // namespace gp::engine

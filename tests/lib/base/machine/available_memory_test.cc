// Goal: the smallest limit applies and is named; file pages that the kernel could drop do not count
// as used; the limit does not depend on current usage.
#include "base/machine/available_memory.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

class AvailableMemoryTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::string full = root_.File(path);
    ASSERT_TRUE(MakeDirectories(DirectoryOf(full)).ok());
    ASSERT_TRUE(WriteFileAtomically(full, text).ok());
  }
  AvailableMemory Read() { return ReadAvailableMemory(root_.path()); }
  AvailableMemory ReadLimit() { return ReadMemoryLimit(root_.path()); }

  TemporaryDirectory root_;
};

TEST_F(AvailableMemoryTest, IsTheMachinesWithoutGroups) {
  Write("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:     5000 kB\nBuffers: 1 kB\n");
  EXPECT_EQ(Read().bytes, 5000 * 1024);
  EXPECT_EQ(Read().limit, "MemAvailable");
  EXPECT_EQ(ReadLimit().bytes, 9000 * 1024);
  EXPECT_EQ(ReadLimit().limit, "MemTotal");
}

TEST_F(AvailableMemoryTest, IsBoundedByTheTightestGroupAboveTheProcess) {
  Write("proc/meminfo", "MemAvailable: 5000 kB\n");
  Write("proc/self/cgroup", "0::/slice/unit\n");
  Write("sys/fs/cgroup/slice/unit/memory.max", "max\n");
  Write("sys/fs/cgroup/slice/unit/memory.current", "1000\n");
  EXPECT_EQ(Read().limit, "MemAvailable");
  Write("sys/fs/cgroup/slice/memory.max", "900000\n");
  Write("sys/fs/cgroup/slice/memory.current", "500000\n");
  Write("sys/fs/cgroup/slice/memory.stat", "anon 1\ninactive_file 100000\n");
  EXPECT_EQ(Read().bytes, 500000);
  EXPECT_EQ(Read().limit, "memory.max of /slice");
  EXPECT_EQ(ReadLimit().bytes, 900000);
  EXPECT_EQ(ReadLimit().limit, "memory.max of /slice");
}

TEST_F(AvailableMemoryTest, ReadsTheOlderGroups) {
  Write("proc/self/cgroup", "5:cpu:/a\n4:memory:/a\n");
  Write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "7000\n");
  Write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "9000\n");
  EXPECT_EQ(Read().bytes, 0);
  EXPECT_EQ(Read().limit, "memory.limit_in_bytes of /a");
  Write("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 10\ntotal_inactive_file 2500\n");
  EXPECT_EQ(Read().bytes, 500) << "of the group and of those below it";
}

TEST_F(AvailableMemoryTest, IsUnlimitedWhereNothingCanBeRead) {
  EXPECT_GT(Read().bytes, int64_t{1} << 50);
}

TEST(AvailableMemory, OfThisMachineIsANumber) {
  const AvailableMemory available = ReadAvailableMemory();
  EXPECT_GT(available.bytes, 0);
  EXPECT_LT(available.bytes, int64_t{1} << 50);
  EXPECT_NE(available.limit, "no limit");
  EXPECT_GE(ReadMemoryLimit().bytes, available.bytes);
}

}  // namespace
}  // namespace gp

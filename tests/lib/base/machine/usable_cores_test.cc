#include "base/machine/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

TEST(UsableCores, AreThoseThatTheThreadIsAllowed) {
  const auto cores = UsableCores();
  ASSERT_TRUE(cores.ok()) << cores.status();
  ASSERT_FALSE(cores->empty());
  EXPECT_EQ(CountUsableCores(), CoresWithinLimit(static_cast<int>(cores->size())));
  std::jthread([last = cores->back()] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(*UsableCores(), std::vector<int>{last});
    EXPECT_EQ(CountUsableCores(), 1);
  });
}

class CpuLimitTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::string full = root_.File(path);
    ASSERT_TRUE(MakeDirectories(DirectoryOf(full)).ok());
    ASSERT_TRUE(WriteFileAtomically(full, text).ok());
  }
  int Limit(int cores) { return CoresWithinLimit(cores, root_.path()); }

  TemporaryDirectory root_;
};

TEST_F(CpuLimitTest, IsTheTightestOfTheGroups) {
  Write("proc/self/cgroup", "0::/pods/one\n");
  Write("sys/fs/cgroup/pods/one/cpu.max", "max 100000\n");
  EXPECT_EQ(Limit(64), 64);
  Write("sys/fs/cgroup/pods/cpu.max", "800000 100000\n");
  EXPECT_EQ(Limit(64), 8);
  Write("sys/fs/cgroup/pods/one/cpu.max", "375000 100000\n");
  EXPECT_EQ(Limit(64), 3) << "whole cores: a thread more would be throttled";
  EXPECT_EQ(Limit(2), 2);
}

TEST_F(CpuLimitTest, OfAContainerIsAtItsOwnRoot) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(Limit(64), 2);
}

TEST_F(CpuLimitTest, IsReadFromTheOlderGroupsToo) {
  Write("proc/self/cgroup", "4:cpu,cpuacct:/hidden/by/the/container\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(Limit(16), 16);
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(Limit(16), 4);
}

TEST_F(CpuLimitTest, LeavesOneCoreAtLeast) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(Limit(16), 1);
}

TEST_F(CpuLimitTest, IsNoneWhereNothingCanBeRead) { EXPECT_EQ(Limit(16), 16); }

}  // namespace
}  // namespace gp

#include "worker/agent/load/machine_load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random_id.h"

namespace gp::agent {
namespace {

class MachineLoadTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeDirectories(proc_).ok()); }
  void TearDown() override { ASSERT_TRUE(RemoveTree(proc_).ok()); }

  void Write(const std::string& loadavg, int swapped_in, int swapped_out) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(proc_, "loadavg"), loadavg).ok());
    ASSERT_TRUE(WriteFileAtomically(JoinPath(proc_, "vmstat"),
                                    fmt::format("nr_free_pages 7\npswpin {}\npswpout {}\n",
                                                swapped_in, swapped_out))
                    .ok());
  }

  const std::string proc_ = ::testing::TempDir() + "gp-proc-" + RandomId(8);
  MachineLoad load_{proc_};
  MonotonicTime now_{std::chrono::hours(1)};
};

TEST_F(MachineLoadTest, TellsRunnableThreadsAndWhatIsSwappedEachSecond) {
  Write("6.25 3.10 1.00 7/300 4711\n", 100, 50);
  EXPECT_EQ(load_.Read(now_).runnable_threads(), 6.25);
  EXPECT_EQ(load_.Read(now_).cores(), sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(load_.Read(now_).swap_bytes_per_second(), 0);
  Write("2.00 3.00 1.00 2/300 4711\n", 130, 70);
  now_ += std::chrono::seconds(10);
  EXPECT_EQ(load_.Read(now_).runnable_threads(), 2);
  EXPECT_EQ(load_.Read(now_).swap_bytes_per_second(), 5.0 * sysconf(_SC_PAGESIZE));
}

TEST_F(MachineLoadTest, TellsBusyCoresSinceTheReadingBeforeAndMemory) {
  const auto ticks = static_cast<int>(sysconf(_SC_CLK_TCK));
  const auto write = [&](int user, int idle, const std::string& meminfo) {
    ASSERT_TRUE(WriteFileAtomically(JoinPath(proc_, "stat"),
                                    fmt::format("cpu  {} 0 {} {} 700 0 0 0 0 0\ncpu0 1 2 3 4\n",
                                                user * ticks, ticks, idle * ticks))
                    .ok());
    ASSERT_TRUE(WriteFileAtomically(JoinPath(proc_, "meminfo"), meminfo).ok());
  };
  write(100, 50, "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:   1024 kB\n");
  const v1::MachineLoad first = load_.Read(now_);
  EXPECT_EQ(first.busy_cores(), -1) << "since when is not known";
  EXPECT_EQ(first.memory_bytes(), 2u << 20);
  EXPECT_EQ(first.available_memory_bytes(), 1u << 20);
  EXPECT_FALSE(load_.IsOld(now_ + std::chrono::seconds(4)));
  now_ += std::chrono::seconds(10);
  EXPECT_TRUE(load_.IsOld(now_));
  write(115, 55, "");
  const v1::MachineLoad second = load_.Read(now_);
  EXPECT_EQ(second.busy_cores(), 1.5);
  EXPECT_EQ(second.memory_bytes(), 0) << "unknown";
}

TEST_F(MachineLoadTest, ReadsTheFilesRarely) {
  Write("1.00 1.00 1.00 1/1 1\n", 0, 0);
  load_.Read(now_);
  Write("9.00 1.00 1.00 1/1 1\n", 0, 0);
  EXPECT_EQ(load_.Read(now_ + std::chrono::seconds(1)).runnable_threads(), 1);
}

TEST_F(MachineLoadTest, AReadThatFailedGivesNoRateNorDoesTheNextOne) {
  const auto rate_after = [this](int swapped_in) {
    if (swapped_in >= 0) Write("1.00 1.00 1.00 1/1 1\n", swapped_in, 0);
    now_ += std::chrono::seconds(10);
    return load_.Read(now_).swap_bytes_per_second();
  };
  EXPECT_EQ(rate_after(100'000), 0);
  ASSERT_TRUE(RemoveTree(JoinPath(proc_, "vmstat")).ok());
  EXPECT_EQ(rate_after(-1), 0);
  EXPECT_EQ(rate_after(100'010), 0) << "since when is not known";
  EXPECT_EQ(rate_after(100'030), 2.0 * sysconf(_SC_PAGESIZE));
  EXPECT_EQ(rate_after(5), 0) << "the count began anew";
}

TEST_F(MachineLoadTest, WhatTheSystemDoesNotTellIsZero) {
  EXPECT_EQ(load_.Read(now_).runnable_threads(), 0);
  EXPECT_EQ(load_.Read(now_ + std::chrono::minutes(1)).swap_bytes_per_second(), 0);
}

}  // namespace
}  // namespace gp::agent

// Goal: the waits of all threads are added up since the last call; threads that begin or end do
// not disturb that; without schedstat there is no number.
#include "base/machine/processor_wait.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

class ProcessorWaitTest : public testing::Test {
 protected:
  // Overwrites the file in place, as the kernel's file changes.
  void Write(const std::string& thread, const std::string& schedstat) {
    const std::string path = root_.File("proc/self/task/" + thread + "/schedstat");
    ASSERT_TRUE(MakeDirectories(DirectoryOf(path)).ok());
    std::ofstream(path, std::ios::trunc) << schedstat;
  }

  TemporaryDirectory root_;
};

TEST_F(ProcessorWaitTest, AddsUpTheThreadsSinceTheLastCall) {
  Write("10", "5000000000 250000000 12\n");
  Write("11", "7000000000 500000000 3\n");
  ProcessorWait wait(root_.path());
  EXPECT_DOUBLE_EQ(*wait.Take(), 0.75);
  EXPECT_DOUBLE_EQ(*wait.Take(), 0);
  Write("10", "5000000000 1250000000 13\n");
  EXPECT_DOUBLE_EQ(*wait.Take(), 1);
}

TEST_F(ProcessorWaitTest, AThreadThatEndedTakesNothingAway) {
  Write("10", "5 1000000000 1\n");
  Write("11", "5 3000000000 1\n");
  ProcessorWait wait(root_.path());
  EXPECT_DOUBLE_EQ(*wait.Take(), 4);
  Write("11", "");
  Write("10", "5 1500000000 1\n");
  EXPECT_DOUBLE_EQ(*wait.Take(), 0.5);
}

TEST_F(ProcessorWaitTest, FindsAThreadThatBeginsLater) {
  Write("10", "5 0 1\n");
  ProcessorWait wait(root_.path());
  EXPECT_DOUBLE_EQ(*wait.Take(), 0);
  Write("11", "5 2000000000 1\n");
  double seconds = 0;
  for (int call = 0; call < 1000; ++call) seconds += *wait.Take();
  EXPECT_DOUBLE_EQ(seconds, 2);
}

TEST_F(ProcessorWaitTest, IsAbsentWithoutTheFilesOrWithOthers) {
  EXPECT_FALSE(ProcessorWait(root_.path()).Take().has_value());
  Write("10", "no numbers\n");
  EXPECT_FALSE(ProcessorWait(root_.path()).Take().has_value());
}

TEST(ProcessorWait, OfThisProcessGrowsWithMoreThreadsThanCores) {
  ProcessorWait wait;
  if (!wait.Take()) GTEST_SKIP() << "this kernel has no schedstat";
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency() + 2; ++i) {
    threads.emplace_back([&stop] {
      while (!stop) continue;
    });
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  double seconds = 0;
  while (seconds < 0.01 && std::chrono::steady_clock::now() < deadline) seconds += *wait.Take();
  stop = true;
  EXPECT_GE(seconds, 0.01);
}

}  // namespace
}  // namespace gp

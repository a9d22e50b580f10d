// Goal: control groups are created, limited and read correctly. Tested on a tree of ordinary files,
// and on real control groups if this process may create some.
#include "worker/agent/trainer_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::agent {
namespace {

using ::testing::HasSubstr;

class TrainerGroupsTest : public ::testing::Test {
 protected:
  TrainerGroupsTest() {
    Write("proc/self/cgroup", "0::/system.slice/gp-worker.service\n");
    Write(kGroup + "/cgroup.controllers", "cpuset cpu memory pids\n");
    Write(kGroup + "/cgroup.procs", std::to_string(getpid()) + "\n");
  }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.File(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string Read(const std::string& path) const {
    return ReadFile(root_.File(kGroup + "/" + path)).value_or("(none)");
  }
  StatusOr<std::unique_ptr<TrainerGroups>> Open(const TrainerGroupLimits& limits = {}) const {
    return TrainerGroups::Open(limits, root_.path());
  }

  const std::string kGroup = "sys/fs/cgroup/system.slice/gp-worker.service";
  TemporaryDirectory root_;
};

TEST_F(TrainerGroupsTest, TheAgentMovesAsideAndEachTrainerHasItsLimits) {
  const auto groups = Open({.memory_bytes = 8 << 20, .tasks = 99});
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_EQ(Read("agent/cgroup.procs"), std::to_string(getpid()));
  EXPECT_EQ(Read("cgroup.subtree_control"), "+memory +pids");
  const auto first = (*groups)->Make();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Read("trainer-1/memory.max"), "8388608");
  EXPECT_EQ(Read("trainer-1/memory.swap.max"), "0");
  EXPECT_EQ(Read("trainer-1/pids.max"), "99");
  ASSERT_TRUE((*first)->Add(4711).ok());
  EXPECT_EQ(Read("trainer-1/cgroup.procs"), "4711");
  ASSERT_TRUE((*groups)->Make().ok());
  EXPECT_EQ(Read("trainer-2/pids.max"), "99");
}

TEST_F(TrainerGroupsTest, WithoutALimitTheMemoryIsThatOfTheGroupsAbove) {
  const auto groups = Open();
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_TRUE((*groups)->Make().ok());
  EXPECT_EQ(Read("trainer-1/memory.max"), "(none)");
  EXPECT_EQ(Read("trainer-1/memory.swap.max"), "(none)");
}

TEST_F(TrainerGroupsTest, TheKernelsKillsAreCounted) {
  const auto group = (*Open())->Make();
  ASSERT_TRUE(group.ok());
  EXPECT_EQ((*group)->OutOfMemoryKills(), 0u);
  Write(kGroup + "/trainer-1/memory.events",
        "low 0\nhigh 0\nmax 31\noom 2\noom_kill 1\noom_group_kill 0\n");
  EXPECT_EQ((*group)->OutOfMemoryKills(), 1u);
}

TEST_F(TrainerGroupsTest, TheLimitIsNamedOnlyWhenTheGroupItselfRanIntoIt) {
  const auto group = (*Open({.memory_bytes = 8 << 20}))->Make();
  ASSERT_TRUE(group.ok());
  Write(kGroup + "/trainer-1/memory.events.local", "max 0\noom 0\noom_kill 1\n");
  EXPECT_EQ((*group)->ReachedLimitBytes(), 0u);
  Write(kGroup + "/trainer-1/memory.events.local", "max 31\noom 1\noom_kill 1\n");
  EXPECT_EQ((*group)->ReachedLimitBytes(), uint64_t{8} << 20);
}

TEST_F(TrainerGroupsTest, AGroupThatAnEarlierAgentLeftIsNotUsedAgain) {
  Write(kGroup + "/trainer-1/memory.max", "4096");
  std::filesystem::create_directories(root_.File(kGroup + "/trainer-2"));
  const auto group = (*Open())->Make();
  ASSERT_TRUE(group.ok());
  EXPECT_EQ(Read("trainer-1/memory.max"), "4096");
  EXPECT_EQ(Read("trainer-2/pids.max"), "4096");
}

TEST_F(TrainerGroupsTest, AGroupWithOtherProcessesIsLeftAlone) {
  Write(kGroup + "/cgroup.procs", "1\n" + std::to_string(getpid()) + "\n");
  EXPECT_THAT(Message(Open().status()), HasSubstr("processes other than gp-worker, such as 1"));
  EXPECT_EQ(Read("agent/cgroup.procs"), "(none)");
}

TEST_F(TrainerGroupsTest, WhatIsMissingIsNamed) {
  Write(kGroup + "/cgroup.controllers", "cpu pids\n");
  EXPECT_THAT(Message(Open().status()), HasSubstr("has no controller 'memory'"));
  Write("proc/self/cgroup", "4:memory:/user.slice\n");
  EXPECT_THAT(Message(Open().status()), HasSubstr("no control groups of version 2"));
}

TEST_F(TrainerGroupsTest, AGroupThatMayNotBeDividedSaysHowItMay) {
  Write(kGroup + "/agent", "in the way");
  EXPECT_THAT(Message(Open().status()), HasSubstr("Delegate=memory pids"));
  EXPECT_EQ(Read("cgroup.subtree_control"), "(none)");
}

// Starts a process that allocates far more than 64 MiB once a byte arrives.
pid_t StartGlutton(int start) {
  const pid_t child = fork();
  if (child != 0) return child;
  char byte = 0;
  if (read(start, &byte, 1) != 1) _exit(1);
  for (int i = 0; i < 512; ++i) {
    volatile char* piece = static_cast<char*>(malloc(1 << 20));
    for (int at = 0; at < 1 << 20; at += 4096) piece[at] = 1;
  }
  _exit(0);
}

TEST(TrainerGroupsForReal, TheKernelKillsWhoPassesHisLimitAndSaysSo) {
  const auto groups = TrainerGroups::Open({.memory_bytes = 64 << 20});
  if (!groups.ok()) GTEST_SKIP() << Message(groups.status());
  const auto group = (*groups)->Make();
  ASSERT_TRUE(group.ok()) << group.status();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t glutton = StartGlutton(ends[0]);
  ASSERT_TRUE((*group)->Add(glutton).ok());
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(glutton, &status, 0), glutton);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_GE((*group)->OutOfMemoryKills(), 1u);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace gp::agent

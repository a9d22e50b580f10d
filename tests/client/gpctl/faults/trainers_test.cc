#include "client/gpctl/faults/trainers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"

namespace gp::gpctl {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(Trainers, AreTheChildrenThatHaveNotEnded) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_THAT(TrainersOf(getpid()), Contains(child));
  EXPECT_THAT(TrainersOf(child), Not(Contains(child)));
  kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(TrainersOf(getpid()), Not(Contains(child))) << "it has ended";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST(Trainers, TheOneWithTheRecordsWritesThem) {
  EXPECT_FALSE(WritesRecords(getpid()));
  const std::string path = ::testing::TempDir() + "trainers_test/metrics.jsonl";
  ASSERT_TRUE(MakeDirectories(DirectoryOf(path)).ok());
  {
    const std::ofstream file(path);
    EXPECT_TRUE(WritesRecords(getpid()));
  }
  EXPECT_FALSE(WritesRecords(getpid()));
  ASSERT_TRUE(RemoveTree(DirectoryOf(path)).ok());
}

}  // namespace
}  // namespace gp::gpctl

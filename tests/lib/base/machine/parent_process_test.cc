#include "base/machine/parent_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace gp {
namespace {

int ExitCodeOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DieWithParent, HoldsWhileTheParentIsThere) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(DieWithParent(parent) && DieWithParent() ? 0 : 1);
  EXPECT_EQ(ExitCodeOf(child), 0);
}

TEST(DieWithParent, NoticesAParentThatEndedBeforeTheCall) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    const pid_t expected = getpid();
    if (fork() != 0) _exit(0);
    while (getppid() == expected) usleep(1000);  // until the parent is gone
    const char noticed = DieWithParent(expected) ? 'n' : 'y';
    _exit(write(ends[1], &noticed, 1) == 1 ? 0 : 1);
  }
  EXPECT_EQ(ExitCodeOf(parent), 0);
  close(ends[1]);
  char noticed = 0;
  ASSERT_EQ(read(ends[0], &noticed, 1), 1);
  EXPECT_EQ(noticed, 'y');
  close(ends[0]);
}

}  // namespace
}  // namespace gp

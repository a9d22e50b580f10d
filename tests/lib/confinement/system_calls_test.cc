#include "confinement/system_calls.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "lib/confinement/in_child.h"

namespace gp::confinement {
namespace {

constexpr int kNotDenied = 200;

int ErrorWhenDenied(const std::function<long()>& call) {
  return InChild([&] {
    if (!DenySystemCalls().ok()) return kNotDenied;
    return call() == -1 ? errno : 0;
  });
}

class DenySystemCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasSystemCallFilters()) GTEST_SKIP() << "this kernel has no seccomp filters";
  }
};

TEST_F(DenySystemCallsTest, WhatNoTrainingNeedsAnswersThatItIsNotPermitted) {
  EXPECT_EQ(ErrorWhenDenied([] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }), EPERM);
  EXPECT_EQ(ErrorWhenDenied([] { return mount("none", "/tmp", "tmpfs", 0, nullptr); }), EPERM);
  EXPECT_EQ(ErrorWhenDenied([] { return unshare(CLONE_NEWUSER); }), EPERM);
  EXPECT_EQ(ErrorWhenDenied([] { return syscall(SYS_bpf, 0, nullptr, 0); }), EPERM);
  EXPECT_EQ(ErrorWhenDenied([] { return syscall(SYS_keyctl, 0, 0, 0, 0, 0); }), EPERM);
  EXPECT_EQ(ErrorWhenDenied([] { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }),
            EPERM);
  EXPECT_EQ(ErrorWhenDenied([] { return syscall(SYS_io_uring_setup, 1, nullptr); }), EPERM);
  EXPECT_EQ(ErrorWhenDenied([] { return syscall(SYS_userfaultfd, 0); }), EPERM);
  EXPECT_EQ(ErrorWhenDenied(
                [] { return syscall(SYS_process_vm_readv, getpid(), nullptr, 0, nullptr, 0, 0); }),
            EPERM);
}

TEST_F(DenySystemCallsTest, NoProgramIsStartedAndNoNamespaceMade) {
  EXPECT_EQ(ErrorWhenDenied([] { return execl("/bin/true", "true", nullptr); }), EPERM);
  EXPECT_EQ(ErrorWhenDenied([] { return syscall(SYS_clone, CLONE_NEWUSER, 0, 0, 0, 0); }), EPERM);
  EXPECT_EQ(ErrorWhenDenied([] { return syscall(SYS_clone3, nullptr, 0); }), ENOSYS);
}

TEST_F(DenySystemCallsTest, ThreadsStartAndAreDeniedTheSame) {
  EXPECT_EQ(ErrorWhenDenied([] {
              long result = 0;
              std::thread([&result] {
                result = unshare(CLONE_NEWUSER) == -1 && errno == EPERM ? 0 : 7;
              }).join();
              return result;
            }),
            0);
}

}  // namespace
}  // namespace gp::confinement

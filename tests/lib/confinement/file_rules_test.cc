#include "confinement/file_rules.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "lib/confinement/in_child.h"

namespace gp::confinement {
namespace {

constexpr int kNotRestricted = 200;

// Opens a file; returns errno, or 0 on success.
int OpenError(const std::string& path, int flags) {
  const FileDescriptor opened(open(path.c_str(), flags | O_CLOEXEC, 0600));
  return opened.valid() ? 0 : errno;
}

class RestrictFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    for (const char* name : {"data", "run", "other"}) {
      ASSERT_TRUE(MakeDirectories(directory_.File(name)).ok());
    }
    Write("data/text.txt");
    Write("run/record");
    Write("other/secret");
  }

  void Write(const std::string& name) const {
    ASSERT_TRUE(WriteFileAtomically(directory_.File(name), "words").ok());
  }

  // Runs `work` in a process that may read data/ and write run/; returns its result.
  int Restricted(const std::function<int()>& work) const {
    return InChild([&] {
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      const Status status = RestrictFiles({.readable = {directory_.File("data"), "/nonexistent"},
                                           .writable = {directory_.File("run")},
                                           .devices = {"/dev/null"}});
      return status.ok() ? work() : kNotRestricted;
    });
  }

  int OpenErrorOf(const std::string& name, int flags) const {
    return Restricted([&] { return OpenError(directory_.File(name), flags); });
  }

  TemporaryDirectory directory_;
};

TEST_F(RestrictFilesTest, WhatIsReadableCanBeReadAndNotWritten) {
  EXPECT_EQ(OpenErrorOf("data/text.txt", O_RDONLY), 0);
  EXPECT_EQ(OpenErrorOf("data", O_RDONLY | O_DIRECTORY), 0);
  EXPECT_EQ(OpenErrorOf("data/text.txt", O_WRONLY), EACCES);
  EXPECT_EQ(OpenErrorOf("data/new", O_WRONLY | O_CREAT), EACCES);
}

TEST_F(RestrictFilesTest, WhatIsWritableCanBeReadWrittenAndFilled) {
  EXPECT_EQ(OpenErrorOf("run/record", O_RDWR | O_TRUNC), 0);
  EXPECT_EQ(OpenErrorOf("run/new", O_WRONLY | O_CREAT), 0);
  const int error = Restricted([&] {
    if (mkdir(directory_.File("run/a").c_str(), 0700) != 0) return errno;
    if (mkdir(directory_.File("run/b").c_str(), 0700) != 0) return errno;
    const std::string from = directory_.File("run/a/file"), to = directory_.File("run/b/file");
    if (const int failed = OpenError(from, O_WRONLY | O_CREAT)) return failed;
    return rename(from.c_str(), to.c_str()) == 0 && unlink(to.c_str()) == 0 ? 0 : errno;
  });
  EXPECT_EQ(error, 0);
}

TEST_F(RestrictFilesTest, EverythingElseIsDeniedAlsoThroughLinksThatAreMadeLater) {
  EXPECT_EQ(OpenErrorOf("other/secret", O_RDONLY), EACCES);
  EXPECT_EQ(OpenErrorOf("data/../other/secret", O_RDONLY), EACCES);
  EXPECT_EQ(OpenError("/etc/passwd", O_RDONLY), 0);
  EXPECT_EQ(Restricted([] { return OpenError("/etc/passwd", O_RDONLY); }), EACCES);
  const int error = Restricted([&] {
    // Nothing to deny yet: the link is created below, after this process has ended.
    return InChild([&] { return 0; }) == 0 ? OpenError(directory_.File("data/late"), O_RDONLY) : 0;
  });
  EXPECT_EQ(error, ENOENT);
  ASSERT_EQ(symlink(directory_.File("other/secret").c_str(), directory_.File("data/late").c_str()),
            0);
  EXPECT_EQ(OpenErrorOf("data/late", O_RDONLY), EACCES);
}

TEST_F(RestrictFilesTest, DevicesAreThoseThatAreNamed) {
  EXPECT_EQ(Restricted([] { return OpenError("/dev/null", O_RDWR); }), 0);
  EXPECT_EQ(Restricted([] { return OpenError("/dev/zero", O_RDONLY); }), EACCES);
}

TEST_F(RestrictFilesTest, NoProgramCanBeStarted) {
  const int error = Restricted([] {
    execl("/bin/true", "true", nullptr);
    return errno;
  });
  EXPECT_EQ(error, EACCES);
}

TEST_F(RestrictFilesTest, OtherProcessesGetNoSignalsAndTellNothing) {
  if (LandlockVersion() < 6) GTEST_SKIP() << "this kernel's Landlock does not know signals";
  EXPECT_EQ(Restricted([] { return kill(getppid(), 0) == 0 ? 0 : errno; }), EPERM);
  EXPECT_EQ(Restricted([] { return kill(getpid(), 0) == 0 ? 0 : errno; }), 0);
  EXPECT_EQ(Restricted([] {
              return OpenError("/proc/" + std::to_string(getppid()) + "/environ", O_RDONLY);
            }),
            EACCES);
}

TEST(SystemFiles, HoldWhatAProgramNeedsAndNoSecrets) {
  if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const auto error_of = [](const std::string& path) {
    return InChild([&] {
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      return RestrictFiles(SystemFiles(false)).ok() ? OpenError(path, O_RDONLY) : kNotRestricted;
    });
  };
  for (const char* path : {"/proc/self/status", "/proc/cpuinfo", "/proc/meminfo", "/dev/urandom",
                           "/sys/devices/system/cpu/online", "/proc/self/exe"}) {
    if (!FileExists(path)) continue;  // for example, there may be no /sys
    EXPECT_EQ(error_of(path), 0) << path;
  }
  for (const char* path :
       {"/etc/passwd", "/etc/hostname", "/proc/1/cmdline", "/tmp", "/", "/root"}) {
    if (!FileExists(path)) continue;
    EXPECT_EQ(error_of(path), EACCES) << path;
  }
}

}  // namespace
}  // namespace gp::confinement

#include "confinement/data_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "lib/confinement/in_child.h"

namespace gp::confinement {
namespace {

using ::testing::HasSubstr;

class DataRootsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"data/deep", "database", "other"}) {
      ASSERT_TRUE(MakeDirectories(At(name)).ok());
    }
    for (const char* name : {"data/text.txt", "data/deep/part", "database/text", "other/secret"}) {
      ASSERT_TRUE(WriteFileAtomically(At(name), "words").ok());
    }
  }

  std::string At(const std::string& name) const { return directory_.File(name); }
  void Link(const std::string& target, const std::string& name) const {
    ASSERT_EQ(symlink(target.c_str(), At(name).c_str()), 0);
  }
  // The message of the refusal; empty if the path is allowed.
  std::string Refusal(const std::string& path,
                      StatusCode code = StatusCode::kInvalidArgument) const {
    const Status status = DataRoots({At("data")}).Check(path);
    if (status.ok()) return "";
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(Message(status), HasSubstr(path));
    return Message(status);
  }

  TemporaryDirectory directory_;
};

TEST_F(DataRootsTest, FilesDirectoriesAndPatternsBeneathARootAreAllowed) {
  for (const char* name : {"data", "data/text.txt", "data/deep", "data/deep/part", "data/*.txt",
                           "data/deep/*", "data/deep/../text.txt"}) {
    EXPECT_EQ(Refusal(At(name)), "") << name;
  }
}

// Makes openat2 fail, as systemd's RestrictSUIDSGID= does.
bool DenyOpenat2() {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0) == 0 &&
         seccomp_load(filter) == 0;
}

TEST_F(DataRootsTest, FilesAreAllowedWhereTheServiceManagerDeniesOpenat2) {
  const std::string file = At("data/deep/part");
  enum { kAllowed, kRefused, kNotDenied };
  EXPECT_EQ(kAllowed, InChild([&] {
              if (!DenyOpenat2()) return kNotDenied;
              return DataRoots({At("data")}).Check(file).ok() ? kAllowed : kRefused;
            }));
}

TEST_F(DataRootsTest, WhatIsNotThereIsForItsReaderToTell) {
  EXPECT_EQ(Refusal(At("data/missing")), "");
  EXPECT_EQ(Refusal(At("data/missing/*.txt")), "");
  EXPECT_EQ(Refusal(At("data/text.txt/below")), "");
}

TEST_F(DataRootsTest, WhatLiesElsewhereIsRefusedWithTheRootsInWords) {
  for (const std::string& path :
       {std::string("/etc/passwd"), At("other/secret"), At("database/text"),
        At("data/../other/secret"), At("data/deep/../../other/secret"), At("other/missing")}) {
    EXPECT_THAT(Refusal(path, StatusCode::kPermissionDenied),
                HasSubstr("is not below any data root of this node (" + At("data")));
  }
}

TEST_F(DataRootsTest, ARelativePathIsRefused) {
  EXPECT_THAT(Refusal("text.txt"), HasSubstr("is a relative path"));
  EXPECT_THAT(Refusal("../secret"), HasSubstr("is a relative path"));
}

TEST_F(DataRootsTest, LinksMayLeadToFilesBeneathARootAndNowhereElse) {
  Link("text.txt", "data/near");
  Link(At("data/deep"), "data/absolute");
  EXPECT_EQ(Refusal(At("data/near")), "");
  EXPECT_EQ(Refusal(At("data/absolute/part")), "");

  Link(At("other/secret"), "data/out");
  Link("../other", "data/folder");
  Link("/proc/self/environ", "data/environment");
  for (const char* name : {"data/out", "data/folder/secret", "data/folder/*", "data/environment"}) {
    EXPECT_THAT(Refusal(At(name)), HasSubstr("a symbolic link that points outside")) << name;
  }
}

TEST_F(DataRootsTest, APatternMayNotClimbOrMatchALinkThatLeadsOut) {
  EXPECT_THAT(Refusal(At("data/*/../../other/secret")), HasSubstr("a pattern that contains '..'"));
  EXPECT_THAT(Refusal("/*/passwd", StatusCode::kPermissionDenied),
              HasSubstr("is not below any data root"));
  Link(At("other/secret"), "data/out.txt");
  const Status status = DataRoots({At("data")}).Check(At("data/*.txt"));
  EXPECT_THAT(Message(status),
              HasSubstr(At("data/out.txt") + " is reached through a symbolic link"));
}

TEST_F(DataRootsTest, ARootMayItselfBeALink) {
  Link(At("data"), "current");
  const DataRoots roots({At("current")});
  EXPECT_TRUE(roots.Check(At("current/text.txt")).ok());
  EXPECT_TRUE(roots.Check(At("data/text.txt")).ok());
  EXPECT_FALSE(roots.Check(At("other/secret")).ok());
}

TEST_F(DataRootsTest, NoRootsAllowNothing) {
  EXPECT_THAT(Message(DataRoots({}).Check(At("data/text.txt"))),
              HasSubstr("any data root of this node (this run may not read any files)"));
  EXPECT_FALSE(DataRoots({At("missing")}).Check(At("data/text.txt")).ok());
}

TEST_F(DataRootsTest, FilesOfTheKernelAreNoDataEvenBeneathTheRootDirectory) {
  const DataRoots everything({"/"});
  EXPECT_TRUE(everything.Check(At("data/text.txt")).ok());
  EXPECT_TRUE(everything.Check("/etc/passwd").ok());
  for (const char* path : {"/proc/self/environ", "/proc/1/cmdline", "/sys/kernel/mm", "/proc"}) {
    if (!FileExists(path)) continue;  // for example, there may be no /sys
    EXPECT_THAT(Message(everything.Check(path)), HasSubstr("in a file system of the kernel"))
        << path;
  }
  EXPECT_THAT(Message(everything.Check("/dev/zero")), HasSubstr("neither a regular file nor"));
}

TEST_F(DataRootsTest, ADirectoryMayHoldNoLinkThatLeadsOut) {
  Link("../text.txt", "data/deep/near");
  EXPECT_EQ(Refusal(At("data/deep")), "");
  Link(At("other/secret"), "data/deep/model.safetensors");
  const Status status = DataRoots({At("data")}).Check(At("data"));
  EXPECT_THAT(Message(status),
              HasSubstr(At("data/deep/model.safetensors") + " is reached through a symbolic link"));
}

TEST_F(DataRootsTest, RootsThatAreNotListedCountTheSame) {
  const DataRoots roots({At("data")}, {At("other")});
  EXPECT_TRUE(roots.Check(At("other/secret")).ok());
  EXPECT_THAT(Message(roots.Check("/etc/passwd")), ::testing::Not(HasSubstr(At("other"))));
}

TEST_F(DataRootsTest, TheDirectoryOfARunHoldsNoLinks) {
  EXPECT_TRUE(CheckHasNoLinks(directory_.path(), At("data")).ok());
  EXPECT_TRUE(CheckHasNoLinks(directory_.path(), At("missing/deep")).ok());
  Link("data", "current");
  EXPECT_TRUE(CheckHasNoLinks(At("current"), At("current/deep")).ok());
  EXPECT_THAT(Message(CheckHasNoLinks(directory_.path(), At("current/deep"))),
              HasSubstr(At("current/deep") + " is a symbolic link, or below one"));
  EXPECT_FALSE(CheckHasNoLinks(At("data"), At("other")).ok());
  Link(At("other/secret"), "data/deep/metrics.jsonl");
  EXPECT_THAT(Message(CheckHasNoLinks(directory_.path(), At("data"))),
              HasSubstr(At("data/deep/metrics.jsonl") + " is a symbolic link"));
}

TEST_F(DataRootsTest, APipeIsNoData) {
  ASSERT_EQ(mkfifo(At("data/pipe").c_str(), 0600), 0);
  EXPECT_THAT(Refusal(At("data/pipe")), HasSubstr("neither a regular file nor"));
}

}  // namespace
}  // namespace gp::confinement

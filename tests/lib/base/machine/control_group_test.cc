// Goal: all control groups that limit a process are found, up to the root, in versions 1 and 2.
#include "base/machine/control_group.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

class ControlGroupTest : public testing::Test {
 protected:
  std::vector<std::string> Directories(const std::string& list) {
    EXPECT_TRUE(MakeDirectories(root_.File("proc/self")).ok());
    EXPECT_TRUE(WriteFileAtomically(root_.File("proc/self/cgroup"), list).ok());
    std::vector<std::string> directories;
    for (const ControlGroup& group : ControlGroups("cpu", root_.path())) {
      directories.push_back(group.directory.substr(root_.path().size() + 1));
    }
    return directories;
  }

  TemporaryDirectory root_;
};

TEST_F(ControlGroupTest, OfVersion2AreAllAboveTheProcess) {
  EXPECT_EQ(
      Directories("0::/pods/one\n"),
      (std::vector<std::string>{"sys/fs/cgroup/pods/one", "sys/fs/cgroup/pods", "sys/fs/cgroup/"}));
  EXPECT_EQ(Directories("0::/\n"), std::vector<std::string>{"sys/fs/cgroup/"});
}

TEST_F(ControlGroupTest, OfVersion1AreThoseOfTheController) {
  EXPECT_EQ(Directories("5:memory:/a\n4:cpu,cpuacct:/b\n3:cpuset:/c\n"),
            (std::vector<std::string>{"sys/fs/cgroup/cpu/b", "sys/fs/cgroup/cpu/"}));
}

TEST_F(ControlGroupTest, AreNoneInWhatCannotBeRead) {
  EXPECT_TRUE(Directories("nonsense\n").empty());
  EXPECT_TRUE(ControlGroups("cpu", "/nonexistent").empty());
}

}  // namespace
}  // namespace gp

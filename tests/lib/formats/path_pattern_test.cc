#include "formats/path_pattern.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PathPatternTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes = "x") {
    const std::string path = JoinPath(directory_.path(), name);
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    return path;
  }

  TemporaryDirectory directory_;
};

TEST_F(PathPatternTest, KeepsTheOrderOfPatternsAndSortsWithinOne) {
  const std::string b = Write("b.txt"), a = Write("a.txt"), z = Write("z");
  EXPECT_THAT(ExpandPatterns({z, JoinPath(directory_.path(), "*.txt")}, "data.text").value(),
              ElementsAre(z, a, b));
}

TEST_F(PathPatternTest, NamesTheKeyAndTheWayOut) {
  const auto error = [&](const std::string& pattern) {
    return Message(ExpandPatterns({pattern}, "data.train").status());
  };
  EXPECT_THAT(error("/nonexistent/a"), AllOf(HasSubstr("data.train: /nonexistent/a does not exist"),
                                             HasSubstr("example with --set data.train=FILE")));
  EXPECT_THAT(Message(ExpandPatterns({"/nonexistent/a"}, "--file").status()),
              HasSubstr("example with --file FILE"));
  EXPECT_THAT(error(directory_.path() + "/none*"), HasSubstr("/none*'; check the pattern"));
  EXPECT_THAT(error(directory_.path()), HasSubstr("is a directory; name its files"));
  EXPECT_THAT(error(Write("empty", "")), HasSubstr("is empty"));
}

// Case runs-and-service/08: file names that contain * ? [ ] were treated as patterns.
TEST_F(PathPatternTest, OnlyWhatTheUserWroteIsAPattern) {
  ASSERT_TRUE(MakeDirectories(directory_.File("exp [1]")).ok());
  ASSERT_TRUE(MakeDirectories(directory_.File("exp 1")).ok());
  const std::string ours = Write("exp [1]/text.txt");
  Write("exp 1/text.txt");
  Write("exp 1/other.txt");
  EXPECT_THAT(ExpandPatterns({ours}, "data.text").value(), ElementsAre(ours));
  EXPECT_THAT(ExpandPatterns({directory_.File("exp [1]/*.txt")}, "data.text").value(),
              ElementsAre(ours));
  EXPECT_THAT(Message(ExpandPatterns({directory_.File("exp [1]/other.txt")}, "data.text").status()),
              HasSubstr("does not exist"));
}

TEST_F(PathPatternTest, AFileOfTheKernelIsNotCalledEmpty) {
  EXPECT_THAT(Message(ExpandPatterns({"/proc/cpuinfo"}, "data.text").status()),
              HasSubstr("/proc/cpuinfo reports size 0, as files under /proc and /sys do; copy it"));
}

// Case runs-and-service/36: a FIFO was reported as "empty"; the error must ask for a regular file.
TEST_F(PathPatternTest, WhatIsNoFileIsNotCalledEmpty) {
  const auto error = [&](const std::string& path) {
    return Message(ExpandPatterns({path}, "data.text").status());
  };
  const std::string pipe = directory_.File("fifo");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error(pipe), HasSubstr(pipe + " is a pipe; name a regular file"));
  const FileDescriptor opened(open(pipe.c_str(), O_RDWR));
  EXPECT_THAT(error(fmt::format("/dev/fd/{}", opened.get())), HasSubstr("is a pipe"));
  EXPECT_THAT(error("/dev/zero"), HasSubstr("/dev/zero is a device"));
  EXPECT_THAT(error("/dev/null"), HasSubstr("/dev/null is a device"));
  const FileDescriptor file(open(Write("plain").c_str(), O_RDONLY));
  EXPECT_THAT(error(fmt::format("/proc/self/fd/{}", file.get())),
              HasSubstr("is a file descriptor of one process; name a regular file"));
}

}  // namespace
}  // namespace gp::formats

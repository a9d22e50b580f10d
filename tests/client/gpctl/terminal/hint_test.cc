// The next commands that gpctl suggests.
#include "client/gpctl/terminal/hint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/file.h"

namespace gp::gpctl {
namespace {

class ProgramWordTest : public ::testing::Test {
 protected:
  ProgramWordTest() {
    std::string pattern = ::testing::TempDir() + "gp-hint-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    for (const char* name : {"/bin", "/other"}) Install(directory_ + name);
    console_.program_directory = directory_ + "/bin";
    console_.working_directory = "/";
  }
  ~ProgramWordTest() override { std::filesystem::remove_all(directory_); }

  static void Install(const std::string& directory) {
    ASSERT_TRUE(MakeDirectories(directory).ok());
    ASSERT_TRUE(WriteFileAtomically(directory + "/gpctl", "#!/bin/sh\n", 0755).ok());
  }

  std::string directory_;
  std::istringstream in_;
  std::ostringstream out_;
  client::Interruption interruption_;
  Console console_{
      .in = in_, .out = out_, .err = out_, .interruption = interruption_, .clock = SystemClock()};
};

TEST_F(ProgramWordTest, IsTheNameWhereTheSearchPathLeadsToIt) {
  console_.environment["PATH"] = "/nowhere:" + directory_ + "/bin:" + directory_ + "/other";
  EXPECT_EQ(ProgramWord(console_), "gpctl");
  console_.working_directory = directory_;
  console_.environment["PATH"] = "bin";
  EXPECT_EQ(ProgramWord(console_), "gpctl");
}

TEST_F(ProgramWordTest, IsThePathWhereAnotherIsFoundFirst) {
  console_.working_directory = "/elsewhere";
  console_.environment["PATH"] = directory_ + "/other:" + directory_ + "/bin";
  EXPECT_EQ(ProgramWord(console_), directory_ + "/bin/gpctl");
}

TEST_F(ProgramWordTest, IsShortBelowTheWorkingDirectory) {
  console_.working_directory = directory_;
  EXPECT_EQ(ProgramWord(console_), "bin/gpctl");
  console_.working_directory = directory_ + "/bin";
  EXPECT_EQ(ProgramWord(console_), "./gpctl");
}

TEST(NextText, HoldsOneCommandInALine) {
  EXPECT_EQ(NextText({"a b", "c"}), "next         a b\n             c\n");
}

}  // namespace
}  // namespace gp::gpctl

// What gpctl tells a person to type next.
#include "client/gpctl/hint.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/file.h"

namespace gp::gpctl {
namespace {

// What a shell makes of `text`.
std::string Shell(const std::string& text) {
  FILE* shell = popen(("printf %s " + text).c_str(), "r");
  std::string out;
  for (int c = fgetc(shell); c != EOF; c = fgetc(shell)) out += static_cast<char>(c);
  EXPECT_EQ(pclose(shell), 0);
  return out;
}

TEST(ShellWord, IsOneWordOfAShell) {
  for (const std::string word : {"", "plain", "two words", "it's", "$HOME", "a\\b", "\"", "~", "*",
                                 "a;b", "new\nline", "ä", "--flag=x,y", "@last@5000", "'"}) {
    EXPECT_EQ(Shell(ShellWord(word)), word);
  }
  EXPECT_EQ(ShellWord("run-1.yaml"), "run-1.yaml") << "what needs no quotes has none";
}

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

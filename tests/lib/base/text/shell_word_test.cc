#include "base/text/shell_word.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace gp {
namespace {

// How a shell interprets `text`.
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

}  // namespace
}  // namespace gp

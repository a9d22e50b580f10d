// Goal: a configuration is read line by line as Python would, without running it, and whatever sets
// nothing that can be read is named with its line.
#include "client/gpctl/nanogpt/python_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

using ::testing::ElementsAre;

// "name=value@line" for each setting.
std::vector<std::string> Settings(const PythonSettings& read) {
  std::vector<std::string> texts;
  for (const PythonSetting& setting : read.settings) {
    texts.push_back(fmt::format("{}={}@{}", setting.name, PythonText(setting.value), setting.line));
  }
  return texts;
}

// "line: text: why" for each statement that was left out.
std::vector<std::string> Skipped(const PythonSettings& read) {
  std::vector<std::string> texts;
  for (const SkippedStatement& skipped : read.skipped) {
    texts.push_back(fmt::format("{}: {}: {}", skipped.line, skipped.text, skipped.why));
  }
  return texts;
}

TEST(PythonSettings, ReadsAssignmentsWithCommentsBlanksAndSemicolons) {
  const PythonSettings read = ReadPythonSettings(
      "# a small model\n"
      "import time\n"
      "\n"
      "n_layer = 6 # '#' in a comment\n"
      "name='a # b'\r\n"
      "batch = 12; steps = batch * 10\n"
      "big = (5 *\n"
      "       8)\n"
      "long = 1 + \\\n"
      "  2\n"
      "typed: int = 3\n"
      "batch += 1\n",
      {});
  EXPECT_THAT(Settings(read), ElementsAre("n_layer=6@4", "name='a # b'@5", "batch=13@12",
                                          "steps=120@6", "big=40@7", "long=3@9", "typed=3@11"));
  EXPECT_THAT(Skipped(read), ElementsAre());
  EXPECT_TRUE(read.read.contains("batch"));
}

TEST(PythonSettings, NamesWhatItLeavesOut) {
  const PythonSettings read = ReadPythonSettings(
      "\"\"\"What this file\n"
      "is about: a = 1\"\"\"\n"
      "run = 'ft-' + str(time.time())\n"
      "if big:\n"
      "    n_layer = 24\n"
      "    n_head = 16\n"
      "else:\n"
      "    n_layer = 6\n"
      "a, b = 1, 2\n"
      "print('hello')\n"
      "  odd = 1\n"
      "n_head = 8\n",
      {});
  EXPECT_THAT(Settings(read), ElementsAre("n_head=8@12"));
  EXPECT_THAT(Skipped(read),
              ElementsAre("3: run = 'ft-' + str(time.time()): calls str()",
                          "4: if big:: is not an assignment; its whole block is ignored",
                          "9: a, b = 1, 2: is not an assignment to one name",
                          "10: print('hello'): is not an assignment to one name",
                          "11: odd = 1: is indented, outside of a block"));
}

TEST(PythonSettings, AValueThatCannotBeReadReplacesTheOneBefore) {
  const PythonSettings read =
      ReadPythonSettings("steps = 10\nsteps = compute()\ntwice = steps * 2\n", {});
  EXPECT_THAT(Settings(read), ElementsAre());
  EXPECT_THAT(Skipped(read),
              ElementsAre("2: steps = compute(): calls compute()",
                          "3: twice = steps * 2: reads 'steps', which has no value before it"));
}

TEST(PythonSettings, KnownNamesHaveValuesAndTheProgramIsNotRead) {
  const PythonSettings read = ReadPythonSettings(
      "max_iters = max_iters // 2\n"
      "exec(open('configurator.py').read()) # overrides\n"
      "max_iters = 7\n"
      "while True: pass\n",
      {{"max_iters", int64_t{600000}}});
  EXPECT_THAT(Settings(read), ElementsAre("max_iters=300000@1"));
  EXPECT_THAT(Skipped(read), ElementsAre());
}

TEST(PythonSettings, EveryBeginningOfAFileIsRead) {
  const std::string whole =
      "\"\"\"x\"\"\"\na = ('b' +\n 'c\\'') # d\nif a:\n  b = 1\nc = \"\"\"e\n\"\"\"\n";
  for (size_t size = 0; size <= whole.size(); ++size) {
    ReadPythonSettings(whole.substr(0, size), {});
  }
  EXPECT_THAT(Settings(ReadPythonSettings("a = 'no end\nb = 2\n", {})), ElementsAre("b=2@2"));
}

}  // namespace
}  // namespace gp::gpctl

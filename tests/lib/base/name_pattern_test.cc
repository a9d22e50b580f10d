#include "base/name_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Case runs-and-service/08: the name of the folder "exp [1]", read as a pattern, matches "exp 1".
class NamePatternTest : public testing::Test {
 protected:
  void Write(const std::string& name) {
    const std::string path = directory_.File(name);
    ASSERT_TRUE(MakeDirectories(DirectoryOf(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(path, "text").ok());
  }

  // The files that `name` matches, relative to the test's directory.
  std::vector<std::string> Matches(const std::string& name) {
    const NamePattern path = ReadNamePattern(directory_.File(name));
    if (path.pattern.empty()) return {"name"};
    std::vector<std::string> paths = MatchingPaths(path).value();
    for (std::string& match : paths) match.erase(0, directory_.path().size() + 1);
    return paths;
  }

  TemporaryDirectory directory_;
};

TEST_F(NamePatternTest, AFolderThatExistsIsAName) {
  Write("exp [1]/a.txt");
  Write("exp 1/a.txt");
  Write("exp 1/b.txt");
  EXPECT_THAT(Matches("exp [1]/a.txt"), ElementsAre("name"));
  EXPECT_THAT(Matches("exp [1]/b.txt"), ElementsAre("name"));
  EXPECT_THAT(Matches("exp [1]/*.txt"), ElementsAre("exp [1]/a.txt"));
  EXPECT_THAT(Matches("exp [1]/[a-b].txt"), ElementsAre("exp [1]/a.txt"));
  EXPECT_THAT(Matches("exp ?/*.txt"), ElementsAre("exp 1/a.txt", "exp 1/b.txt"));
  EXPECT_THAT(Matches("exp [1-9]/*.txt"), ElementsAre("exp 1/a.txt", "exp 1/b.txt"));
}

TEST_F(NamePatternTest, AFileThatExistsIsAName) {
  Write("wiki[en].txt");
  Write("wikie.txt");
  EXPECT_THAT(Matches("wiki[en].txt"), ElementsAre("name"));
  EXPECT_THAT(Matches("wiki[ef].txt"), ElementsAre("wikie.txt"));
}

TEST_F(NamePatternTest, EveryCharacterOfAPatternMayBeInAName) {
  for (const char* folder : {"a*b", "what?", "[x]", "ba\\ck", "{a,b}", "~", "a]b[", "*"}) {
    Write(std::string(folder) + "/sub [2]/t.txt");
    EXPECT_THAT(Matches(std::string(folder) + "/sub [2]/*.txt"),
                ElementsAre(std::string(folder) + "/sub [2]/t.txt"));
    EXPECT_THAT(Matches(std::string(folder) + "/*/t.txt"),
                ElementsAre(std::string(folder) + "/sub [2]/t.txt"));
  }
}

TEST_F(NamePatternTest, APatternInTheMiddleKeepsTheNamesAroundIt) {
  Write("r [1]/x/t[1].txt");
  Write("r [1]/y/t1.txt");
  EXPECT_THAT(Matches("r [1]/*/t[1].txt"), ElementsAre("r [1]/y/t1.txt"));
  EXPECT_THAT(Matches("r [1]/*/none"), IsEmpty());
  EXPECT_THAT(Matches("missing/*.txt"), IsEmpty());
}

}  // namespace
}  // namespace gp

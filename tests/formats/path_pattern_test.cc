#include "formats/path_pattern.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "base/temporary_directory.h"

namespace gp::formats {
namespace {

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
  EXPECT_THAT(error("/nonexistent/a"), HasSubstr("data.train: /nonexistent/a does not exist"));
  EXPECT_THAT(error(directory_.path() + "/none*"), HasSubstr("/none*'; check the pattern"));
  EXPECT_THAT(error(directory_.path()), HasSubstr("is a directory; name its files"));
  EXPECT_THAT(error(Write("empty", "")), HasSubstr("is empty"));
}

}  // namespace
}  // namespace gp::formats

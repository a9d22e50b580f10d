#include "tokenizer/data/shared_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

using ::testing::HasSubstr;

TEST(SharedFiles, AreNamedWhateverTheirPathIs) {
  const TemporaryDirectory directory;
  const std::string a = directory.Write("a.bin", "1");
  const std::string b = directory.Write("b.bin", "1");
  std::filesystem::create_symlink(a, directory.File("link.bin"));
  EXPECT_EQ(DescribeSharedFiles({a}, {b, directory.File("none.bin")}, "data.train"), "");
  for (const std::string& same : {a, directory.File("./a.bin"), directory.File("link.bin")}) {
    EXPECT_THAT(DescribeSharedFiles({b, a}, {same}, "data.train"),
                HasSubstr("data.val names " + same + ", which data.train names, too"));
  }
  EXPECT_THAT(DescribeSharedFiles({a, b}, {a, b}, "data.train"), HasSubstr(a + " and 1 more"));
}

}  // namespace
}  // namespace gp

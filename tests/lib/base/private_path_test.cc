#include "base/private_path.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "lib/base/file_mode.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

TEST(PrivatePath, EverythingBelowIsClosedAndLinksAreNotFollowed) {
  const TemporaryDirectory directory;
  const std::string outside = directory.File("outside");
  const std::string tree = directory.File("tree");
  ASSERT_TRUE(MakeDirectories(tree + "/a/b").ok());
  ASSERT_TRUE(WriteFileAtomically(outside, "x", 0644).ok());
  ASSERT_TRUE(WriteFileAtomically(tree + "/a/b/file", "x", 0644).ok());
  ASSERT_TRUE(WriteFileAtomically(tree + "/program", "x", 0755).ok());
  ASSERT_EQ(symlink(outside.c_str(), (tree + "/link").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", (tree + "/broken").c_str()), 0);
  ASSERT_TRUE(CloseToOthers(tree).ok());
  EXPECT_EQ(ModeOf(tree), 0700u);
  EXPECT_EQ(ModeOf(tree + "/a/b"), 0700u);
  EXPECT_EQ(ModeOf(tree + "/a/b/file"), 0600u);
  EXPECT_EQ(ModeOf(tree + "/program"), 0700u);
  EXPECT_EQ(ModeOf(outside), 0644u);
}

TEST(PrivatePath, AFileIsClosedAndWhatIsAbsentIsNoError) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("file");
  EXPECT_TRUE(CloseToOthers(path).ok());
  ASSERT_TRUE(WriteFileAtomically(path, "x", 0666).ok());
  EXPECT_TRUE(CloseToOthers(path).ok());
  EXPECT_EQ(ModeOf(path), 0600u);
}

}  // namespace
}  // namespace gp

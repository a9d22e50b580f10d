#include "base/durable_rename.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

TEST(DurableRename, TakesAFileAndADirectoryAndReplacesAFile) {
  TemporaryDirectory directory;
  ASSERT_TRUE(WriteFileAtomically(directory.File("a"), "new").ok());
  ASSERT_TRUE(WriteFileAtomically(directory.File("b"), "old").ok());
  ASSERT_TRUE(MakeDirectories(directory.File("draft/inner")).ok());
  EXPECT_TRUE(RenameDurably(directory.File("a"), directory.File("b")).ok());
  EXPECT_TRUE(RenameDurably(directory.File("draft"), directory.File("final")).ok());
  EXPECT_EQ(ListDirectory(directory.path()).value(), (std::vector<std::string>{"b", "final"}));
  EXPECT_EQ(ReadFile(directory.File("b")).value(), "new");
  EXPECT_TRUE(FileExists(directory.File("final/inner")));
}

TEST(DurableRename, NamesTheTargetAndChangesNothingWhenItFails) {
  TemporaryDirectory directory;
  ASSERT_TRUE(WriteFileAtomically(directory.File("a"), "text").ok());
  ASSERT_TRUE(MakeDirectories(directory.File("full/inner")).ok());
  const Status status = RenameDurably(directory.File("a"), directory.File("full"));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(Message(status).find(directory.File("full")), std::string::npos) << status;
  EXPECT_EQ(ReadFile(directory.File("a")).value(), "text");
  EXPECT_EQ(RenameDurably(directory.File("absent"), directory.File("b")).code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace gp

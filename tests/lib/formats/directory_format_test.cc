#include "formats/directory_format.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::formats {
namespace {

using ::testing::HasSubstr;

Status Append(const std::string& path, const std::string& text) {
  const std::string before = FileExists(path) ? ReadFile(path).value() : "";
  return WriteFileAtomically(path, before.ends_with(text) ? before : before + text);
}

// Version 2 appends " two" to the file `names`, version 3 appends " three". Version 2 keeps a copy
// of the old file.
DirectoryFormat Things(int newest) {
  DirectoryFormat format{.name = "gp-things", .what = "directory of things"};
  if (newest >= 2) {
    format.migrations.push_back(
        {.changes = {"names", "folder"}, .apply = [](const auto& directory) {
           return Append(JoinPath(directory, "names"), " two");
         }});
  }
  if (newest >= 3) {
    format.migrations.push_back({.changes = {}, .apply = [](const auto& directory) {
                                   return Append(JoinPath(directory, "names"), " three");
                                 }});
  }
  return format;
}

class DirectoryFormatTest : public ::testing::Test {
 protected:
  void SetUp() override { Write("names", "one"); }
  std::string File(const std::string& name) const { return directory_.File(name); }
  void Write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(WriteFileAtomically(File(name), text).ok());
  }
  std::string Read(const std::string& name) const {
    return ReadFile(File(name)).value_or("absent");
  }
  Status Migrate(int newest) const { return MigrateDirectory(directory_.path(), Things(newest)); }

  const TemporaryDirectory directory_;
};

TEST_F(DirectoryFormatTest, ADirectoryWithoutAVersionHasTheFirstAndGetsIt) {
  ASSERT_TRUE(Migrate(1).ok());
  EXPECT_EQ(Read(kFormatFileName), "{\"format\":\"gp-things\",\"version\":1}\n");
  EXPECT_EQ(Read("names"), "one");
}

TEST_F(DirectoryFormatTest, EachMigrationIsDoneOnceAndItsFilesAreCopiedBefore) {
  ASSERT_TRUE(MakeDirectories(File("folder")).ok());
  Write("folder/inner", "inside");
  ASSERT_TRUE(Migrate(1).ok());
  ASSERT_TRUE(Migrate(3).ok());
  ASSERT_TRUE(Migrate(3).ok());
  EXPECT_EQ(Read("names"), "one two three");
  EXPECT_EQ(Read("before-v2/names"), "one");
  EXPECT_EQ(Read("before-v2/folder/inner"), "inside");
  EXPECT_FALSE(FileExists(File("before-v3"))) << "version 3 changes no file that it names";
  EXPECT_EQ(ReadDirectoryVersion(directory_.path(), Things(3)).value(), 3);
}

TEST_F(DirectoryFormatTest, AMigrationThatFailsLeavesTheVersion) {
  DirectoryFormat format = Things(1);
  format.migrations.push_back(
      {.changes = {}, .apply = [](const auto&) { return DataLoss("the file 'names' is odd"); }});
  const Status failed = MigrateDirectory(directory_.path(), format);
  EXPECT_THAT(Message(failed), HasSubstr("migrate the directory of things " + directory_.path() +
                                         " to version 2: the file 'names' is odd"));
  EXPECT_EQ(ReadDirectoryVersion(directory_.path(), Things(1)).value(), 1);
}

TEST_F(DirectoryFormatTest, OneOfANewerVersionIsRefusedAndLeftAlone) {
  ASSERT_TRUE(Migrate(3).ok());
  const Status older = Migrate(2);
  EXPECT_EQ(older.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      Message(older),
      HasSubstr(
          "the directory of things " + directory_.path() +
          " has version 3, written by a newer gp; this gp reads versions up to 2; upgrade gp"));
  EXPECT_EQ(ReadDirectoryVersion(directory_.path(), Things(3)).value(), 3);
}

TEST_F(DirectoryFormatTest, ADamagedOrForeignVersionIsAnError) {
  const std::string whole = "{\"format\":\"gp-things\",\"version\":2}";
  for (size_t size = 0; size < whole.size(); ++size) {
    Write(kFormatFileName, whole.substr(0, size));
    EXPECT_EQ(Migrate(3).code(), StatusCode::kDataLoss) << size;
  }
  for (const char* text :
       {"{\"format\":\"gp-run\",\"version\":1}", "[]", "{\"format\":\"gp-things\",\"version\":0}",
        "{\"format\":\"gp-things\",\"version\":\"2\"}"}) {
    Write(kFormatFileName, text);
    EXPECT_EQ(Migrate(3).code(), StatusCode::kDataLoss) << text;
    EXPECT_THAT(Message(Migrate(3)), HasSubstr(File(kFormatFileName)));
  }
}

}  // namespace
}  // namespace gp::formats

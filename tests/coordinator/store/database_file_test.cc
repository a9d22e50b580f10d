#include "coordinator/store/database_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/file.h"
#include "lib/base/file_mode.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

constexpr const char* kMigrations[] = {"CREATE TABLE first(a INTEGER);",
                                       "CREATE TABLE second(b INTEGER);"};

DatabaseFile Things(size_t version = 2) {
  return {.what = "list of things",
          .migrations = std::span(kMigrations).first(version),
          .when_damaged = "write it again"};
}

TEST(DatabaseFile, IsMadeForItsOwnerAloneAndAnOpenOneIsClosed) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("things.db");
  ASSERT_TRUE(OpenDatabase(path, Things()).ok());
  EXPECT_EQ(ModeOf(path), 0600u);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  ASSERT_TRUE(OpenDatabase(path, Things()).ok());
  EXPECT_EQ(ModeOf(path), 0600u);
}

TEST(DatabaseFile, EachMigrationIsDoneOnce) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("things.db");
  ASSERT_TRUE(OpenDatabase(path, Things(1))->Execute("INSERT INTO first VALUES (7)").ok());
  auto newer = OpenDatabase(path, Things());
  ASSERT_TRUE(newer.ok()) << newer.status();
  EXPECT_TRUE(newer->Execute("INSERT INTO second VALUES (8)").ok());
  EXPECT_EQ(*newer->QueryText("SELECT a FROM first"), "7");
  EXPECT_EQ(*newer->QueryText("PRAGMA user_version"), "2");
  EXPECT_EQ(*newer->QueryText("PRAGMA journal_mode"), "wal");
}

TEST(DatabaseFile, AMigrationThatFailsLeavesTheVersionAndWhatWasThere) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("things.db");
  ASSERT_TRUE(OpenDatabase(path, Things(1))->Execute("INSERT INTO first VALUES (7)").ok());
  DatabaseFile broken = Things();
  broken.at_end = "INSERT INTO missing VALUES (1);";
  EXPECT_THAT(Message(OpenDatabase(path, broken).status()), HasSubstr("migrate " + path));
  EXPECT_EQ(ReadDatabaseVersion(path).value(), 1);
  EXPECT_EQ(*OpenDatabase(path, Things(1))->QueryText("SELECT a FROM first"), "7");
}

TEST(DatabaseFile, OneOfANewerVersionIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("things.db");
  ASSERT_TRUE(OpenDatabase(path, Things()).ok());
  const Status older = OpenDatabase(path, Things(1)).status();
  EXPECT_EQ(older.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(older), HasSubstr("the list of things " + path + " has version 2"));
}

TEST(DatabaseFile, ADamagedOneSaysWhatCanBeDone) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("things.db");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(8192, 'x')).ok());
  const Status damaged = OpenDatabase(path, Things()).status();
  EXPECT_EQ(damaged.code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(damaged), HasSubstr("the list of things " + path + " is damaged ("));
  EXPECT_THAT(Message(damaged), HasSubstr("; write it again"));
}

}  // namespace
}  // namespace gp::coordinator

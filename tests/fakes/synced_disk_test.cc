// Tests the fake itself, and the guarantees of base/file.h for a power loss.
#include "fakes/synced_disk.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/temporary_directory.h"

namespace gp::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::Pointee;

class SyncedDiskTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.File(name); }

  // Writes a file without syncing it.
  void Write(const std::string& name, const std::string& text) const {
    const FileDescriptor file(open(Path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644));
    ASSERT_TRUE(WriteAll(file.get(), text, name).ok());
  }
  void SyncFile(const std::string& name) const {
    const FileDescriptor file(open(Path(name).c_str(), O_WRONLY));
    ASSERT_EQ(fsync(file.get()), 0);
  }

  TemporaryDirectory directory_;
  SyncedDisk disk_{directory_.path()};
};

TEST_F(SyncedDiskTest, WithoutASyncNothingIsLeft) {
  Write("a", "text");
  EXPECT_THAT(disk_.Left(), ElementsAre());
  SyncFile("a");
  EXPECT_THAT(disk_.Left(), ElementsAre()) << "the content is there, its name is not";
}

TEST_F(SyncedDiskTest, ANameWithoutItsContentIsAnEmptyFile) {
  Write("a", "text");
  ASSERT_TRUE(SyncDirectory(directory_.path()).ok());
  EXPECT_THAT(disk_.Left(), ElementsAre(Pair("a", Pointee(std::string()))));
  SyncFile("a");
  Write("a", "more text");
  EXPECT_THAT(disk_.Left(), ElementsAre(Pair("a", Pointee(std::string("text")))));
}

TEST_F(SyncedDiskTest, ARenameNeedsItsDirectory) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "old").ok());
  Write("b", "new");
  SyncFile("b");
  ASSERT_EQ(rename(Path("b").c_str(), Path("a").c_str()), 0);
  EXPECT_THAT(disk_.Left(), ElementsAre(Pair("a", Pointee(std::string("old")))));
  ASSERT_TRUE(SyncDirectory(directory_.path()).ok());
  EXPECT_THAT(disk_.Left(), ElementsAre(Pair("a", Pointee(std::string("new")))));
}

TEST_F(SyncedDiskTest, ARemovedFileComesBack) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "text").ok());
  ASSERT_EQ(unlink(Path("a").c_str()), 0);
  Write("b", "another file, which may get the number of the first");
  EXPECT_THAT(disk_.Left(), ElementsAre(Pair("a", Pointee(std::string("text")))));
}

TEST_F(SyncedDiskTest, WhatIsLeftCanBeLookedAt) {
  ASSERT_TRUE(MakeDirectories(Path("d/e")).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("d/e/a"), "text").ok());
  const TemporaryDirectory after;
  SyncedDisk::Restore(disk_.Left(), after.path());
  EXPECT_EQ(ReadFile(after.File("d/e/a")).value_or(""), "text");
}

TEST_F(SyncedDiskTest, AtEveryMomentAnAtomicWriteLeavesTheOldOrTheNewContent) {
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "old").ok());
  int syncs = 0;
  disk_.set_after_sync([&](const SyncedDisk::Image& left) {
    ++syncs;
    EXPECT_THAT(*left.at("a"), ::testing::AnyOf("old", "new"));
  });
  ASSERT_TRUE(WriteFileAtomically(Path("a"), "new").ok());
  EXPECT_EQ(*disk_.Left().at("a"), "new");
  EXPECT_EQ(syncs, 2);
}

TEST_F(SyncedDiskTest, DirectoriesAreThereOnceTheyAreMade) {
  ASSERT_TRUE(MakeDirectories(Path("d/e")).ok());
  EXPECT_THAT(disk_.Left(), ElementsAre(Pair("d/", ::testing::_), Pair("d/e/", ::testing::_)));
}

TEST_F(SyncedDiskTest, ASyncThatFailsKeepsWhatWasSyncedBefore) {
  ASSERT_TRUE(WriteFileAtomically(Path("x"), "old").ok());
  disk_.FailSyncs(1);
  EXPECT_FALSE(WriteFileAtomically(Path("x"), "new").ok());
  EXPECT_THAT(disk_.Left(), ElementsAre(Pair("x", Pointee(std::string("old")))));
  EXPECT_TRUE(WriteFileAtomically(Path("x"), "new").ok());
  EXPECT_THAT(disk_.Left(), ElementsAre(Pair("x", Pointee(std::string("new")))));
}

}  // namespace
}  // namespace gp::testing

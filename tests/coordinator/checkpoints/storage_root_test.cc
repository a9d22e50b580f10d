#include "coordinator/checkpoints/storage_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StorageRootTest : public ::testing::Test {
 protected:
  std::string Root() const { return JoinPath(directory_.path(), "mount/gp"); }
  std::string Probe() const { return JoinPath(Root(), ".gp-probe"); }

  // Creates a complete checkpoint of a run and returns its directory.
  std::string Checkpoint(const std::string& name) const {
    const std::string checkpoint = JoinPath(Root(), "runs/r/checkpoints/" + name);
    EXPECT_TRUE(MakeDirectories(checkpoint).ok());
    EXPECT_TRUE(WriteFileAtomically(JoinPath(checkpoint, "manifest.json"), "{}").ok());
    return checkpoint;
  }
  // Expects that nothing was created below the mount point of the missing storage.
  void ExpectEmpty() const {
    EXPECT_TRUE(ListDirectory(directory_.path())->empty()) << "something was made";
  }

  const TemporaryDirectory directory_;
  const LocalStorage files_;
};

TEST_F(StorageRootTest, HasAnIdentityFromItsFirstStartOn) {
  const auto first = StorageRoot::Open(files_, Root());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(first->identity().empty());
  EXPECT_TRUE(FileExists(JoinPath(Root(), "runs")));
  const auto again = StorageRoot::Open(files_, Root() + "/", {.identity = first->identity()});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->identity(), first->identity());
  EXPECT_EQ(again->path(), Root());
}

TEST_F(StorageRootTest, AnotherStorageIsRefused) {
  ASSERT_TRUE(StorageRoot::Open(files_, Root()).ok());
  const Status refused = StorageRoot::Open(files_, Root(), {.identity = "mine"}).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), AllOf(HasSubstr(Root() + " is not the storage of this catalogue"),
                                      HasSubstr("expected mine"),
                                      HasSubstr("mount its file system"), HasSubstr("--adopt")));
}

TEST_F(StorageRootTest, AnEmptyMountPointIsRefusedAndNothingIsMadeInIt) {
  for (const char* identity : {"mine", ""}) {
    const Status refused =
        StorageRoot::Open(files_, Root(),
                          {.identity = identity, .checkpoints = {Root() + "/runs/r/c"}})
            .status();
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(refused),
                AllOf(HasSubstr("has 0 of the 1 checkpoints in the catalogue"),
                      HasSubstr(Root() + "/runs/r/c"), HasSubstr("mount its file system")));
    ExpectEmpty();
  }
}

TEST_F(StorageRootTest, IsAdoptedSilentlyWithEveryCheckpoint) {
  const std::string one = Checkpoint("step-1");
  const std::string two = Checkpoint("step-2");
  ASSERT_TRUE(RemoveTree(JoinPath(two, "manifest.json")).ok());
  const ExpectedStorage expected{.identity = "mine", .checkpoints = {one, two}};
  EXPECT_THAT(Message(StorageRoot::Open(files_, Root(), expected).status()),
              HasSubstr("has 1 of the 2 checkpoints in the catalogue; " + two + " is missing"));
  EXPECT_FALSE(FileExists(Probe()));
  Checkpoint("step-2");
  const auto adopted = StorageRoot::Open(files_, Root(), expected);
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  EXPECT_EQ(adopted->identity(), "mine");
  EXPECT_EQ(*ReadFile(Probe()), "mine");
}

// The storage may have been emptied, or it may not be mounted; nothing would be lost either way.
TEST_F(StorageRootTest, AnEmptyMountPointIsANewStorageForAnEmptyCatalogueWithoutRuns) {
  const auto opened = StorageRoot::Open(files_, Root(), {.identity = "mine"});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_NE(opened->identity(), "mine");
  EXPECT_NE(opened->identity(), "");
}

TEST_F(StorageRootTest, AnEmptyMountPointIsRefusedWhileARunWithoutACheckpointGoesOn) {
  for (const size_t runs : {1, 3}) {
    const Status refused =
        StorageRoot::Open(files_, Root(), {.identity = "mine", .live_runs = runs}).status();
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(refused),
                AllOf(HasSubstr("storage root " + Root() + " has no .gp-probe, but "),
                      HasSubstr(runs == 1 ? "the catalogue has 1 run that must continue"
                                          : "3 runs that must "
                                            "continue"),
                      HasSubstr("mount its file system"), HasSubstr("--adopt")));
    ExpectEmpty();
  }
  EXPECT_TRUE(
      StorageRoot::Open(files_, Root(), {.identity = "mine", .live_runs = 1, .adopt = true}).ok());
}

TEST_F(StorageRootTest, IsKnownByItsProbeWhileARunWithoutACheckpointGoesOn) {
  const auto first = StorageRoot::Open(files_, Root());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(
      StorageRoot::Open(files_, Root(), {.identity = first->identity(), .live_runs = 1}).ok());
}

// Older versions stored no identity, so the checkpoints identify the storage, even if some were
// deleted by hand.
TEST_F(StorageRootTest, OfAnOlderVersionIsKnownByItsCheckpoints) {
  const std::string there = Checkpoint("step-2");
  ASSERT_TRUE(WriteFileAtomically(Probe(), "older").ok());
  const std::string gone = Root() + "/runs/r/checkpoints/step-1";
  const auto opened = StorageRoot::Open(files_, Root(), {.checkpoints = {gone, there}});
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->identity(), "older");
  EXPECT_FALSE(StorageRoot::Open(files_, Root(), {.checkpoints = {gone}}).ok());
}

TEST_F(StorageRootTest, AnAdoptedOneIsNotTakenForTheOldOne) {
  const auto adopted = StorageRoot::Open(
      files_, Root(), {.identity = "mine", .checkpoints = {Root() + "/runs/r/c"}, .adopt = true});
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  EXPECT_NE(adopted->identity(), "mine");
  EXPECT_TRUE(StorageRoot::Open(files_, Root(), {.identity = adopted->identity()}).ok());
  EXPECT_EQ(StorageRoot::Open(files_, Root(), {.identity = "mine", .adopt = true})->identity(),
            adopted->identity());
}

TEST_F(StorageRootTest, ThatWentAwayCannotBeWrittenTo) {
  const auto storage = StorageRoot::Open(files_, Root());
  ASSERT_TRUE(storage.ok());
  EXPECT_TRUE(storage->CheckWritable().ok());
  ASSERT_TRUE(WriteFileAtomically(Probe(), "another").ok());
  EXPECT_THAT(Message(storage->CheckWritable()),
              HasSubstr("is from another storage root; mount it again"));
  ASSERT_TRUE(RemoveTree(Root()).ok());
  EXPECT_THAT(Message(storage->CheckWritable()),
              HasSubstr(Probe() + " is missing; mount it again"));
}

TEST_F(StorageRootTest, AProbeThatWasCutOffIsNamed) {
  ASSERT_TRUE(MakeDirectories(Root()).ok());
  ASSERT_TRUE(WriteFileAtomically(Probe(), "").ok());
  EXPECT_EQ(StorageRoot::Open(files_, Root()).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gp::coordinator

#include "coordinator/store/storage_table.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"
#include "coordinator/store/sqlite_store.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

class StorageTableTest : public ::testing::Test {
 protected:
  std::unique_ptr<SqliteStore> OpenAt(const std::string& storage_root) {
    auto store = SqliteStore::Open(directory_.path(), LockState(directory_.path()).value(),
                                   {.storage_root = storage_root});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  // The events of a run and its checkpoint below `root`.
  static std::vector<Event> EventsAt(const std::string& root, const std::string& run = "r") {
    const std::string directory = root + "/runs/" + run;
    Event submit = SampleSubmit(run, "submit " + run);
    std::get<RunSubmitted>(submit.body).submission.run_directory = directory;
    return {submit,
            {RunId(run), At(2), "scheduler", "",
             CheckpointSealed{1, {.step = 5, .directory = directory + "/checkpoints/c"}}}};
  }
  static std::string SealedIn(Store& store, const std::string& run = "r") {
    std::string directory;
    EXPECT_TRUE(store
                    .Load([&](const StoredEvent& stored) {
                      const auto* sealed = std::get_if<CheckpointSealed>(&stored.event.body);
                      if (sealed == nullptr || stored.event.run != RunId(run)) return;
                      directory = sealed->checkpoint.directory;
                    })
                    .ok());
    return directory;
  }
  // Turns the file into one of version 3, which had no table `storage`.
  void TakeBackToVersion3() const {
    auto database =
        SqliteConnection::Open(JoinPath(directory_.path(), "gp.db"), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(database
                    ->Execute("DROP TABLE storage; DELETE FROM upgrades WHERE version > 3; "
                              "PRAGMA user_version = 3")
                    .ok());
  }

  const TemporaryDirectory directory_;
};

TEST_F(StorageTableTest, TheCatalogueGoesWithTheStorageRoot) {
  ASSERT_TRUE(OpenAt("/a")->Append(EventsAt("/a")).ok());
  const auto moved = OpenAt("/b");
  EXPECT_EQ(SealedIn(*moved), "/b/runs/r/checkpoints/c");
  EXPECT_EQ(std::get<RunSubmitted>(moved->ReadRun(RunId("r"), 0, 1)->front().event.body)
                .submission.run_directory,
            "/b/runs/r");
}

TEST_F(StorageTableTest, TheIdentityAndTheLastPlaceAreKept) {
  {
    const auto store = OpenAt("/a");
    EXPECT_EQ(store->storage().identity, "");
    ASSERT_TRUE(store->Append(EventsAt("/a")).ok());
    ASSERT_TRUE(store->KeepStorage("probe").ok());
  }
  const auto again = SqliteStore::Open(directory_.path());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->storage().identity, "probe");
  EXPECT_EQ((*again)->storage().root, "/a");
  EXPECT_EQ(SealedIn(**again), "/a/runs/r/checkpoints/c");
}

// Version 3 stored absolute paths.
TEST_F(StorageTableTest, AnOlderFileGetsRelativePathsAndKnowsWhereItsStorageWas) {
  ASSERT_TRUE(OpenAt("")->Append(EventsAt("/old")).ok());
  TakeBackToVersion3();
  {
    const auto store = OpenAt("");
    EXPECT_EQ(store->storage().root, "/old");
    EXPECT_EQ(SealedIn(*store), "/old/runs/r/checkpoints/c");
  }
  EXPECT_EQ(SealedIn(*OpenAt("/new")), "/new/runs/r/checkpoints/c");
}

TEST_F(StorageTableTest, AnOlderFileWithTwoStorageRootsKeepsThePathsOfTheOlderOne) {
  {
    const auto store = OpenAt("");
    ASSERT_TRUE(store->Append(EventsAt("/first", "before")).ok());
    ASSERT_TRUE(store->Append(EventsAt("/second", "after")).ok());
  }
  TakeBackToVersion3();
  const auto moved = OpenAt("/third");
  const auto directory_of = [&](const std::string& run) {
    return std::get<RunSubmitted>(moved->ReadRun(RunId(run), 0, 1)->front().event.body)
        .submission.run_directory;
  };
  EXPECT_EQ(directory_of("before"), "/first/runs/before");
  EXPECT_EQ(directory_of("after"), "/third/runs/after");
  EXPECT_EQ(SealedIn(*moved, "before"), "/first/runs/before/checkpoints/c");
  EXPECT_EQ(SealedIn(*moved, "after"), "/third/runs/after/checkpoints/c");
}

}  // namespace
}  // namespace gp::coordinator

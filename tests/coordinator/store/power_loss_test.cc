// What the coordinator acknowledged survives a power loss at any moment, not only a killed process.
#include <gtest/gtest.h>

#include "coordinator/store/run_log.h"
#include "coordinator/store/sample_events.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/temporary_directory.h"
#include "fakes/synced_disk.h"

namespace gp::coordinator {
namespace {

using testing::SyncedDisk;

// The events that a coordinator finds in what a power loss left.
std::vector<StoredEvent> Recover(const SyncedDisk::Image& left) {
  const TemporaryDirectory after;
  SyncedDisk::Restore(left, after.path());
  std::vector<StoredEvent> events;
  auto store = SqliteStore::Open(after.path() + "/state");
  EXPECT_TRUE(store.ok()) << store.status();
  if (!store.ok()) return events;
  const Status loaded = (*store)->Load([&](const StoredEvent& event) { events.push_back(event); });
  EXPECT_TRUE(loaded.ok()) << loaded;
  return events;
}

TEST(PowerLoss, AtAnyMomentTheStoreHoldsAllThatItAcknowledged) {
  const TemporaryDirectory directory;
  const SyncedDisk disk(directory.path());
  std::vector<SyncedDisk::Image> moments;
  std::vector<size_t> acknowledged_at;  // events, by moment
  size_t acknowledged = 0;
  const auto look = [&] {
    moments.push_back(disk.Left());
    acknowledged_at.push_back(acknowledged);
  };
  {
    auto store = SqliteStore::Open(directory.path() + "/state");
    ASSERT_TRUE(store.ok()) << store.status();
    look();
    for (const Event& event : OneOfEachKind()) {
      ASSERT_TRUE((*store)->Append({event}).ok());
      ++acknowledged;
      look();
    }
  }
  look();  // closed: the log has been moved into the database
  for (size_t i = 0; i < moments.size(); ++i) {
    EXPECT_EQ(Recover(moments[i]).size(), acknowledged_at[i]) << "moment " << i;
  }
}

TEST(PowerLoss, BetweenTwoSyncsTheStoreHoldsAtLeastWhatItAcknowledged) {
  const TemporaryDirectory directory;
  SyncedDisk disk(directory.path());
  std::vector<std::pair<size_t, SyncedDisk::Image>> moments;  // acknowledged events before each
  size_t acknowledged = 0;
  {
    auto store = SqliteStore::Open(directory.path() + "/state");
    ASSERT_TRUE(store.ok()) << store.status();
    disk.set_after_sync(
        [&](const SyncedDisk::Image& left) { moments.emplace_back(acknowledged, left); });
    for (int i = 0; i < 40; ++i) {
      const std::string number = std::to_string(i);
      ASSERT_TRUE((*store)->Append({SampleSubmit("run" + number, "request" + number)}).ok());
      ++acknowledged;
    }
  }
  ASSERT_GE(moments.size(), 40u) << "each append syncs";
  for (const auto& [count, left] : moments) {
    const size_t found = Recover(left).size();
    EXPECT_GE(found, count);
    EXPECT_LE(found, count + 1);
  }
}

TEST(PowerLoss, SyncedPointsAndLinesStay) {
  const TemporaryDirectory directory;
  const SyncedDisk disk(directory.path());
  const std::string path = directory.path() + "/runs/r";
  auto log = RunLog::Open(path, {});
  ASSERT_TRUE(log.ok()) << log.status();
  Point point;
  point.epoch = 1;
  point.step = 1;
  ASSERT_TRUE(log->AppendPoints({point}).ok());
  ASSERT_TRUE(log->Sync().ok());
  point.step = 2;
  ASSERT_TRUE(log->AppendPoints({point}).ok());  // acknowledged to nobody

  const TemporaryDirectory after;
  SyncedDisk::Restore(disk.Left(), after.path());
  uint64_t offset = 0;
  const auto points = ReadPoints(after.path() + "/runs/r", 10, offset);
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 1u);
  EXPECT_EQ(points->front().step, 1);
  EXPECT_TRUE(RunLog::Open(after.path() + "/runs/r", {}).ok());
}

}  // namespace
}  // namespace gp::coordinator

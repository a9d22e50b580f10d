// Everything that the coordinator acknowledged survives a power loss at any time, not only a kill
// of the process.
#include <gtest/gtest.h>

#include <future>

#include "coordinator/store/sample_events.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/telemetry/recorder.h"
#include "coordinator/telemetry/run_log.h"
#include "fakes/synced_disk.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using testing::SyncedDisk;

// The events that a coordinator reads from the disk after a power loss.
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
  std::vector<size_t> acknowledged_at;  // number of events, by moment
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
  look();  // closing the store has moved the write-ahead log into the database
  for (size_t i = 0; i < moments.size(); ++i) {
    EXPECT_EQ(Recover(moments[i]).size(), acknowledged_at[i]) << "moment " << i;
  }
}

TEST(PowerLoss, BetweenTwoSyncsTheStoreHoldsAtLeastWhatItAcknowledged) {
  const TemporaryDirectory directory;
  SyncedDisk disk(directory.path());
  // number of events acknowledged before it, disk content
  std::vector<std::pair<size_t, SyncedDisk::Image>> moments;
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
  contract::TrainingPoint point;
  point.epoch = 1;
  point.step = 1;
  ASSERT_TRUE(log->AppendPoints({point}).ok());
  ASSERT_TRUE(log->Sync().ok());
  point.step = 2;
  ASSERT_TRUE(log->AppendPoints({point}).ok());  // neither synced nor acknowledged

  const TemporaryDirectory after;
  SyncedDisk::Restore(disk.Left(), after.path());
  uint64_t offset = 0;
  const auto points = ReadPoints(after.path() + "/runs/r", 10, offset);
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 1u);
  EXPECT_EQ(points->front().step, 1);
  EXPECT_TRUE(RunLog::Open(after.path() + "/runs/r", {}).ok());
}

contract::TrainingPoint MakePoint(int64_t step) {
  contract::TrainingPoint point;
  point.epoch = 1;
  point.step = step;
  return point;
}

TelemetryBatch MakeBatch(const RunId& run, int64_t step) {
  Line line;
  line.text = "step " + std::to_string(step);
  line.source = "agent";
  line.source_sequence = static_cast<uint64_t>(step);
  TelemetryBatch batch;
  batch.points[run] = {MakePoint(step)};
  batch.lines[run] = {line};
  return batch;
}

// The numbers of points and lines of the run that a coordinator reads from the disk after a power
// loss.
std::pair<size_t, size_t> RecoverTelemetry(const SyncedDisk::Image& left, const RunId& run) {
  const TemporaryDirectory after;
  SyncedDisk::Restore(left, after.path());
  const std::string directory = JoinPath(JoinPath(after.path(), "runs"), run.value());
  if (!FileExists(directory)) return {};
  EXPECT_TRUE(RunLog::Open(directory, {}).ok());
  uint64_t points = 0;
  uint64_t lines = 0;
  return {ReadPoints(directory, 1000, points)->size(), ReadLines(directory, 1000, lines)->size()};
}

class NoObserver final : public RecordObserver {
 public:
  void OnRecorded(const RunId&, const Progress&) override {}
};

// The disk's content at each acknowledgement. The Recorder's thread appends; the test reads after
// Stop.
struct Moments {
  std::vector<std::pair<int64_t, SyncedDisk::Image>> acknowledged;  // step, disk content
};

TelemetryBatch Watched(TelemetryBatch batch, int64_t step, const SyncedDisk& disk,
                       Moments& moments) {
  batch.on_durable = [&disk, &moments, step] {
    moments.acknowledged.emplace_back(step, disk.Left());
  };
  return batch;
}

TEST(PowerLoss, TelemetryThatWasAcknowledgedStays) {
  const TemporaryDirectory directory;
  const SyncedDisk disk(directory.path());
  const std::vector<RunId> runs = {RunId("a"), RunId("b"), RunId("c")};
  NoObserver observer;
  Moments moments;
  {
    Recorder recorder(directory.path() + "/runs", {.open_logs_max = 2}, observer);
    for (int64_t step = 1; step <= 20; ++step) {
      TelemetryBatch batch;
      for (const RunId& run : runs) {
        TelemetryBatch of_run = MakeBatch(run, step);
        batch.points.merge(of_run.points);
        batch.lines.merge(of_run.lines);
      }
      ASSERT_TRUE(recorder.Post(Watched(std::move(batch), step, disk, moments)));
    }
  }
  ASSERT_EQ(moments.acknowledged.size(), 20u);
  for (const auto& [step, left] : moments.acknowledged) {
    for (const RunId& run : runs) {
      const auto [points, lines] = RecoverTelemetry(left, run);
      EXPECT_GE(points, static_cast<size_t>(step)) << run.value();
      EXPECT_GE(lines, static_cast<size_t>(step)) << run.value();
    }
  }
}

// The killed coordinator had written this telemetry without a sync. The agent resends it; although
// it looks like a duplicate, it must be synced before it is acknowledged.
TEST(PowerLoss, TelemetryThatAKilledCoordinatorWroteIsAcknowledgedOnceItIsSynced) {
  const TemporaryDirectory directory;
  const SyncedDisk disk(directory.path());
  const RunId run("r");
  {
    auto log = RunLog::Open(directory.path() + "/runs/r", {});
    ASSERT_TRUE(log.ok()) << log.status();
    TelemetryBatch batch = MakeBatch(run, 1);
    ASSERT_TRUE(log->AppendPoints(batch.points[run]).ok());
    ASSERT_TRUE(log->AppendLines(batch.lines[run]).ok());
  }
  NoObserver observer;
  Moments moments;
  {
    Recorder recorder(directory.path() + "/runs", {}, observer);
    ASSERT_TRUE(recorder.Post(Watched(MakeBatch(run, 1), 1, disk, moments)));
  }
  ASSERT_EQ(moments.acknowledged.size(), 1u);
  EXPECT_EQ(RecoverTelemetry(moments.acknowledged[0].second, run),
            (std::pair<size_t, size_t>(1, 1)));
}

TEST(PowerLoss, TelemetryIsAcknowledgedWhenItIsSyncedThoughSyncsFailedBefore) {
  const TemporaryDirectory directory;
  SyncedDisk disk(directory.path());
  const RunId run("r");
  NoObserver observer;
  Recorder recorder(directory.path() + "/runs", {.retry_delay = std::chrono::milliseconds(1)},
                    observer);
  for (int64_t step = 1; step <= 8; ++step) {
    std::promise<SyncedDisk::Image> acknowledged;
    TelemetryBatch batch = MakeBatch(run, step);
    batch.on_durable = [&] { acknowledged.set_value(disk.Left()); };
    disk.FailSyncs(static_cast<int>((step - 1) % 4));
    ASSERT_TRUE(recorder.Post(std::move(batch)));
    auto left = acknowledged.get_future();
    ASSERT_EQ(left.wait_for(kPatience), std::future_status::ready);
    const auto [points, lines] = RecoverTelemetry(left.get(), run);
    EXPECT_EQ(points, static_cast<size_t>(step));
    EXPECT_EQ(lines, static_cast<size_t>(step));
  }
}

// After a failed sync the kernel may drop the unwritten data, and a later sync would succeed
// without it.
TEST(PowerLoss, WhatASyncFailedForIsCutOff) {
  const TemporaryDirectory directory;
  SyncedDisk disk(directory.path());
  const std::string path = directory.path() + "/x.log";
  auto file = RecordFile::Open(path, [](std::string_view) {});
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append({"kept"}).ok());
  ASSERT_TRUE(file->Sync().ok());
  const uint64_t size_bytes = *FileSize(path);
  ASSERT_TRUE(file->Append({"not synced"}).ok());
  disk.FailSyncs(1);
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_EQ(*FileSize(path), size_bytes);
  ASSERT_TRUE(file->Append({"again"}).ok());
  EXPECT_TRUE(file->Sync().ok());
  EXPECT_EQ(*disk.Left().at("x.log"), *ReadFile(path));
}

}  // namespace
}  // namespace gp::coordinator

// The service's retention at work: events, audit log, and time that a fake clock sets.
#include "coordinator/checkpoints/service_retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/file.h"
#include "coordinator/control/replay.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "fakes/fake_clock.h"
#include "lib/base/temporary_directory.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // a fixture has a method Run

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NoObserver final : public BatchObserver {
 public:
  void OnBatch(const PublishedBatch&) override {}
};

class ServiceRetentionTest : public ::testing::Test {
 protected:
  void SetUp() override { reconciler_.Start(); }
  void TearDown() override { reconciler_.Stop(); }

  void Request(const Event& event) {
    std::promise<Status> answer;
    reconciler_.Request(
        event, [&](const StatusOr<Admission>& admission) { answer.set_value(admission.status()); });
    const Status status = answer.get_future().get();
    ASSERT_TRUE(status.ok()) << status;
  }
  void AddEndedRun(const std::string& id) {
    Event submit = SampleSubmit(id, id);
    Submission& submission = std::get<RunSubmitted>(submit.body).submission;
    submission.name = id;
    submission.parent_run.clear();
    submission.run_directory = JoinPath(directory_.path(), "runs/" + id);
    Request(submit);
    Request({.run = RunId(id), .actor = "user", .body = CancelRequested{true}});
    ASSERT_TRUE(IsTerminal(reconciler_.snapshot()->FindRun(RunId(id))->state));
  }
  std::string AuditText() const {
    std::string text;
    const std::vector<std::string> names = ListDirectory(audit_->directory()).value();
    for (const std::string& name : names) {
      text += ReadFile(JoinPath(audit_->directory(), name)).value_or("");
    }
    return text;
  }

  TemporaryDirectory directory_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
  NoObserver observer_;
  FakeClock clock_;
  Reconciler reconciler_{store_, clock_, observer_, *ReplayStore(store_), {}};
  LocalStorage files_;
  std::unique_ptr<AuditLog> audit_ =
      AuditLog::Open(JoinPath(directory_.path(), "audit"), clock_).value();
};

TEST_F(ServiceRetentionTest, DeletesByAgeAndSaysSo) {
  ServiceRetention retention(
      reconciler_, *audit_, files_, clock_,
      {.policy = {.age = std::chrono::hours(24)}, .storage_root = directory_.path()});
  AddEndedRun("old");
  clock_.Advance(std::chrono::hours(20));
  AddEndedRun("new");
  retention.Look();
  EXPECT_NE(reconciler_.snapshot()->FindRun(RunId("old")), nullptr);
  clock_.Advance(std::chrono::hours(5));
  retention.Look();
  const auto cluster = reconciler_.snapshot();
  EXPECT_EQ(cluster->FindRun(RunId("old")), nullptr);
  ASSERT_NE(cluster->FindDeleted(RunId("old")), nullptr);
  EXPECT_EQ(cluster->FindDeleted(RunId("old"))->deleted_by, "retention");
  EXPECT_NE(cluster->FindRun(RunId("new")), nullptr);
  audit_ = nullptr;  // writes what waits
  audit_ = AuditLog::Open(JoinPath(directory_.path(), "audit"), clock_).value();
  EXPECT_THAT(AuditText(), HasSubstr("\"retention\""));
  EXPECT_THAT(AuditText(), HasSubstr("team/old"));
}

TEST_F(ServiceRetentionTest, AClockThatIsSetFarAheadDeletesNothing) {
  ServiceRetention retention(
      reconciler_, *audit_, files_, clock_,
      {.policy = {.age = std::chrono::hours(24)}, .storage_root = directory_.path()});
  AddEndedRun("a");
  retention.Look();
  clock_.Advance(std::chrono::hours(2));
  clock_.StepWall(std::chrono::hours(24 * 365));
  retention.Look();
  EXPECT_NE(reconciler_.snapshot()->FindRun(RunId("a")), nullptr);
  clock_.Advance(std::chrono::hours(23));
  retention.Look();
  EXPECT_EQ(reconciler_.snapshot()->FindRun(RunId("a")), nullptr) << "it is old now";
}

TEST_F(ServiceRetentionTest, AClockThatIsAheadAtTheStartCanBeSetRightWithinAnHour) {
  AddEndedRun("a");
  clock_.StepWall(std::chrono::hours(24 * 365));
  ServiceRetention retention(
      reconciler_, *audit_, files_, clock_,
      {.policy = {.age = std::chrono::hours(24)}, .storage_root = directory_.path()});
  retention.Look();
  clock_.Advance(std::chrono::minutes(59));
  retention.Look();
  EXPECT_NE(reconciler_.snapshot()->FindRun(RunId("a")), nullptr);
  clock_.StepWall(-std::chrono::hours(24 * 365));
  clock_.Advance(std::chrono::minutes(2));
  retention.Look();
  EXPECT_NE(reconciler_.snapshot()->FindRun(RunId("a")), nullptr);
  clock_.Advance(std::chrono::hours(24));
  retention.Look();
  EXPECT_EQ(reconciler_.snapshot()->FindRun(RunId("a")), nullptr);
}

TEST_F(ServiceRetentionTest, WhatCannotBeAuditedIsNotDeleted) {
  const std::string audit = JoinPath(directory_.path(), "audit");
  // Each record begins a file, so that a missing directory is an error.
  audit_ = nullptr;
  audit_ = AuditLog::Open(audit, clock_, {.file_bytes_max = 1}).value();
  const auto write = [&] {
    std::promise<Status> written;
    audit_->Record({.principal = "owner"},
                   [&](const Status& status) { written.set_value(status); });
    return written.get_future().get();
  };
  ASSERT_TRUE(write().ok());
  ServiceRetention retention(reconciler_, *audit_, files_, clock_,
                             {.policy = {.count = 1}, .storage_root = directory_.path()});
  for (const char* id : {"a", "b", "c", "d"}) AddEndedRun(id);
  const auto left = [&] { return reconciler_.snapshot()->runs.size(); };
  ASSERT_TRUE(RemoveTree(audit).ok());
  retention.Look();
  EXPECT_EQ(left(), 3u) << "the record of the first one shows that the log cannot be written";
  retention.Look();
  EXPECT_EQ(left(), 3u);
  ASSERT_TRUE(MakeDirectories(audit, 0700).ok());
  ASSERT_TRUE(write().ok());
  retention.Look();
  EXPECT_EQ(left(), 1u);
}

TEST_F(ServiceRetentionTest, KeepsTheNewestByNumber) {
  ServiceRetention retention(reconciler_, *audit_, files_, clock_,
                             {.policy = {.count = 2}, .storage_root = directory_.path()});
  for (const char* id : {"a", "b", "c", "d"}) {
    clock_.Advance(std::chrono::hours(1));
    AddEndedRun(id);
  }
  retention.Look();
  std::vector<std::string> left;
  reconciler_.snapshot()->runs.ForEach(
      [&](const RunId& id, const auto&) { left.push_back(id.value()); });
  std::sort(left.begin(), left.end());
  EXPECT_THAT(left, ElementsAre("c", "d"));
}

// An ended run with checkpoints of steps 10 and 20, whose directories exist.
RunValue EndedWithCheckpoints(const std::string& id, const std::string& storage) {
  RunValue run;
  run.id = RunId(id);
  Submission submission = SampleSubmission();
  submission.name = submission.request_id = id;
  submission.parent_run.clear();
  submission.run_directory = JoinPath(storage, "runs/" + id);
  run.submission = std::make_shared<const Submission>(submission);
  run.state = RunState::kSucceeded;
  run.reason = "trained to step 20";
  run.epoch = 1;
  for (const int step : {10, 20}) {
    SealedCheckpoint one;
    one.step = step;
    one.epoch = 1;
    one.size_bytes = 10;
    one.directory = JoinPath(submission.run_directory, fmt::format("checkpoints/{}", step));
    EXPECT_TRUE(MakeDirectories(one.directory).ok());
    run.checkpoints.push_back(one);
  }
  return run;
}

TEST_F(ServiceRetentionTest, PrunesNoMoreWhileFilesOfItsLastPruneExist) {
  Cluster cluster;
  for (const char* id : {"a", "b"}) {
    RunValue run = EndedWithCheckpoints(id, directory_.path());
    run.submitted_sequence = cluster.runs.size() + 1;
    // Nothing of b can be pruned yet.
    if (run.id == RunId("b")) run.checkpoints[0].pinned = true;
    cluster.requests.Set(id, {run.id, ""});
    cluster.Set(run);
  }
  MemoryStore::Disk disk;
  MemoryStore store(disk);
  Reconciler reconciler(store, clock_, observer_, std::move(cluster), {});
  reconciler.Start();
  ServiceRetention retention(
      reconciler, *audit_, files_, clock_,
      {.policy = {.disk_watermark = 1e-9}, .storage_root = directory_.path()});
  const auto is_pruned = [&](const char* id) {
    return reconciler.snapshot()->FindRun(RunId(id))->checkpoints[0].retired;
  };
  retention.Look();
  EXPECT_TRUE(is_pruned("a"));
  EXPECT_FALSE(is_pruned("b"));
  std::promise<Status> unpinned;
  reconciler.Request(
      {.run = RunId("b"), .actor = "user", .body = CheckpointPinned{10, 1, false}},
      [&](const StatusOr<Admission>& admission) { unpinned.set_value(admission.status()); });
  ASSERT_TRUE(unpinned.get_future().get().ok());
  retention.Look();
  EXPECT_FALSE(is_pruned("b"));
  const std::string pruned = JoinPath(directory_.path(), "runs/a/checkpoints/10");
  ASSERT_TRUE(RemoveTree(pruned).ok());
  retention.Look();
  EXPECT_TRUE(is_pruned("b"));
  reconciler.Stop();
}

TEST_F(ServiceRetentionTest, AFullStoreDeletesNothing) {
  ServiceRetention retention(reconciler_, *audit_, files_, clock_,
                             {.policy = {.count = 1}, .storage_root = directory_.path()});
  AddEndedRun("a");
  clock_.Advance(std::chrono::hours(1));
  AddEndedRun("b");
  {
    MutexLock lock(disk_.mutex);
    disk_.full = true;
  }
  retention.Look();
  EXPECT_NE(reconciler_.snapshot()->FindRun(RunId("a")), nullptr);
  {
    MutexLock lock(disk_.mutex);
    disk_.full = false;
  }
  retention.Look();
  EXPECT_EQ(reconciler_.snapshot()->FindRun(RunId("a")), nullptr);
}

}  // namespace
}  // namespace gp::coordinator

#include "coordinator/checkpoints/state_backup.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "coordinator/access/audit_log.h"
#include "coordinator/access/token_store.h"
#include "coordinator/control/replay.h"
#include "coordinator/notifications/notification_queue.h"
#include "coordinator/private_files.h"
#include "coordinator/store/sample_events.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/telemetry/run_log.h"
#include "daemon/state_lock.h"
#include "fakes/fake_clock.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

class StateBackup : public ::testing::Test {
 protected:
  std::string File(const std::string& name) const { return JoinPath(root_.path(), name); }
  StatusOr<std::string> BackUp() { return BackUpState(File("state"), File("copy"), clock_); }
  StatusOr<std::string> Restore() {
    return RestoreState({.state_dir = File("state"), .backup = File("copy")}, clock_);
  }

  std::unique_ptr<SqliteStore> OpenStore() {
    auto store = SqliteStore::Open(File("state"));
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  // Adds a run that has not ended and has no checkpoint.
  void Submit(SqliteStore& store, const std::string& run) {
    ASSERT_TRUE(store.Append({SampleSubmit(run, "request of " + run)}).ok());
  }

  const TemporaryDirectory root_;
  FakeClock clock_;
};

TEST_F(StateBackup, BringsEveryPartBack) {
  {
    const auto store = OpenStore();
    Submit(*store, "r");
    const auto tokens = TokenStore::Open(File("state/security"), clock_);
    ASSERT_TRUE((*tokens)->Create({.name = "alice", .roles = {{"*", Role::kViewer}}}).ok());
    auto log = RunLog::Open(File("state/runs/r"), {});
    ASSERT_TRUE(log->AppendPoints({{.step = 1, .epoch = 1}}).ok());
    ASSERT_TRUE(log->Sync().ok());
    const auto queue = NotificationQueue::Open(File("state"));
    ASSERT_TRUE((*queue)->SetTargets({"ops"}, 1).ok());
    const auto audit = AuditLog::Open(File("state/audit"), clock_);
    (*audit)->Record({.principal = "owner", .method = "Submit"}, nullptr);
    ASSERT_TRUE(BackUp().ok());  // while the store, the tokens and the audit log are open
  }
  ExpectPrivate(File("copy"));
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  const auto said = Restore();
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_NE(said->find("1 runs continue"), std::string::npos) << *said;
  ExpectPrivate(File("state"));
  EXPECT_NE(ReplayStore(*OpenStore())->FindRun(RunId("r")), nullptr);
  EXPECT_EQ((*TokenStore::Open(File("state/security"), clock_))->List().at(0).name, "alice");
  EXPECT_EQ((*NotificationQueue::Open(File("state")))->Cursor().value(), 1u);
  EXPECT_EQ(ReadProgress(File("state/runs/r"))->steps_taken, 1);
  EXPECT_TRUE(formats::VerifyAuditDirectory(File("state/audit")).ok());
}

TEST_F(StateBackup, IsOneMomentsWhileDecisionsAreWritten) {
  const auto store = OpenStore();
  Submit(*store, "before");
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; !done; ++i) Submit(*store, fmt::format("r{}", i));
  });
  const auto copied = BackUp();
  done = true;
  writer.join();
  ASSERT_TRUE(copied.ok()) << copied.status();
  const auto copy = SqliteStore::Open(File("copy"));
  ASSERT_TRUE(copy.ok()) << copy.status();
  const auto cluster = ReplayStore(**copy);  // reads every record, up to the last
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_NE(cluster->FindRun(RunId("before")), nullptr);
}

TEST_F(StateBackup, ARestoredCoordinatorOutranksAllThatStartedSince) {
  uint64_t backed_up = OpenStore()->generation();
  ASSERT_TRUE(BackUp().ok());
  for (int starts = 0; starts < 3; ++starts) backed_up = OpenStore()->generation();
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  ASSERT_TRUE(Restore().ok());
  const uint64_t first = OpenStore()->generation();
  EXPECT_GT(first, backed_up);
  clock_.Advance(std::chrono::minutes(1));
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  ASSERT_TRUE(Restore().ok());
  EXPECT_GT(OpenStore()->generation(), first);
}

TEST_F(StateBackup, OverwritesNothing) {
  EXPECT_EQ(BackUp().status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Restore().status().code(), StatusCode::kNotFound);
  OpenStore();
  ASSERT_TRUE(BackUp().ok());
  EXPECT_EQ(BackUp().status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(Restore().status().code(), StatusCode::kAlreadyExists);
}

TEST_F(StateBackup, IsNotRestoredIntoADirectoryThatACoordinatorUses) {
  OpenStore();
  ASSERT_TRUE(BackUp().ok());
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  ASSERT_TRUE(MakeDirectories(File("state")).ok());
  {
    // A starting coordinator takes the lock before it creates gp.db.
    const auto lock =
        daemon::StateLock::Acquire(File("state"), "coordinator.lock", "another coordinator");
    ASSERT_TRUE(lock.ok()) << lock.status();
    const auto refused = Restore();
    EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(Message(refused.status()).find("in use by another coordinator"), std::string::npos);
    EXPECT_FALSE(FileExists(File("state/gp.db")));
  }
  const auto restored = Restore();
  EXPECT_TRUE(restored.ok()) << restored.status();
}

TEST_F(StateBackup, IsNotRestoredBesideAJournalOfAnEarlierStore) {
  OpenStore();
  ASSERT_TRUE(BackUp().ok());
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  ASSERT_TRUE(MakeDirectories(File("state")).ok());
  for (const char* journal : {"state/gp.db-wal", "state/gp.db-journal"}) {
    ASSERT_TRUE(WriteFileAtomically(File(journal), "frames").ok());
    const auto refused = Restore();
    EXPECT_EQ(refused.status().code(), StatusCode::kAlreadyExists);
    EXPECT_NE(Message(refused.status()).find(File(journal)), std::string::npos);
    ASSERT_TRUE(RemoveTree(File(journal)).ok());
  }
  EXPECT_TRUE(Restore().ok());
}

TEST_F(StateBackup, IsNotMixedWithWhatAnEarlierTryLeft) {
  OpenStore();
  ASSERT_TRUE(TokenStore::Open(File("state/security"), clock_).ok());
  ASSERT_TRUE(MakeDirectories(File("state/runs/of-backup")).ok());
  ASSERT_TRUE(BackUp().ok());
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  for (const char* folder : {"state/security", "state/runs/of-try", "state/audit"}) {
    ASSERT_TRUE(MakeDirectories(File(folder)).ok());
  }
  const auto leftovers = {"state/security/tokens.db-wal", "state/security/tokens.db-shm",
                          "state/security/nodes.db-wal", "state/runs/of-try/summary",
                          "state/audit/audit-1.log"};
  for (const char* name : leftovers) ASSERT_TRUE(WriteFileAtomically(File(name), "other").ok());
  // Without the folder `restore`, these files may belong to a state whose audit log was never
  // backed up, so nothing may be overwritten.
  EXPECT_EQ(Restore().status().code(), StatusCode::kAlreadyExists);
  for (const char* name : leftovers) EXPECT_TRUE(FileExists(File(name))) << name;
  ASSERT_TRUE(MakeDirectories(File("state/restore")).ok());
  const auto restored = Restore();
  ASSERT_TRUE(restored.ok()) << restored.status();
  for (const char* name : leftovers) EXPECT_FALSE(FileExists(File(name))) << name;
  EXPECT_FALSE(FileExists(File("state/runs/of-try")));
  EXPECT_TRUE(FileExists(File("state/runs/of-backup")));
  EXPECT_TRUE(TokenStore::Open(File("state/security"), clock_).ok());
}

TEST_F(StateBackup, IsMadeAndRestoredByTheOwnerOfTheStateAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "giving a file to another user needs root";
  OpenStore();
  ASSERT_EQ(chown(File("state/gp.db").c_str(), 65534, 65534), 0);
  const auto refused = BackUp();
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(refused.status()).find("belongs to user 65534"), std::string::npos);
  ASSERT_EQ(chown(File("state/gp.db").c_str(), 0, 0), 0);
  ASSERT_TRUE(BackUp().ok());
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  ASSERT_TRUE(MakeDirectories(File("state")).ok());
  ASSERT_EQ(chown(File("state").c_str(), 65534, 65534), 0);
  EXPECT_EQ(Restore().status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(StateBackup, IsNotRestoredWithoutTheStorageRootAndThenNothingIsRemoved) {
  {
    const auto store = OpenStore();
    Submit(*store, "r");  // sets the run's directory to /storage/runs/r
    const auto event = [](EventBody body) {
      return Event{RunId("r"), At(7), "scheduler", "", std::move(body)};
    };
    const std::vector<Placement> placement = {{0, NodeId("n"), SlotId("s0")},
                                              {1, NodeId("n"), SlotId("s1")}};
    const RunPlaced placed{1, placement, "it fits", -1, 1, "", Device::kCpu};
    ASSERT_TRUE(store->Append({event(RunQueued{"waits"}), event(placed)}).ok());
  }
  ASSERT_TRUE(BackUp().ok());
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  ASSERT_TRUE(MakeDirectories(File("state/runs/r")).ok());
  ASSERT_TRUE(MakeDirectories(File("state/restore")).ok());
  const auto refused = Restore();
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_NE(Message(refused.status()).find("mount the storage root"), std::string::npos);
  EXPECT_FALSE(FileExists(File("state/gp.db")));
  EXPECT_TRUE(FileExists(File("state/runs/r")));
}

TEST_F(StateBackup, ADamagedOneIsRefusedAndLeavesNoState) {
  OpenStore();
  ASSERT_TRUE(BackUp().ok());
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  const std::string whole = *ReadFile(File("copy/gp.db"));
  ASSERT_TRUE(WriteFileAtomically(File("copy/gp.db"), whole.substr(0, whole.size() / 2)).ok());
  EXPECT_EQ(Restore().status().code(), StatusCode::kDataLoss);
  EXPECT_FALSE(FileExists(File("state/gp.db")));
  ASSERT_TRUE(WriteFileAtomically(File("copy/gp.db"), whole).ok());
  EXPECT_TRUE(Restore().ok());  // overwrites what the failed restore left
}

}  // namespace
}  // namespace gp::coordinator

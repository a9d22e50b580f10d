// A kill during an upgrade is tested with real processes in tests/e2e/golden_state_test.py.
#include "coordinator/checkpoints/state_upgrade.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "coordinator/access/token_store.h"
#include "coordinator/checkpoints/state_backup.h"
#include "coordinator/control/replay.h"
#include "coordinator/private_files.h"
#include "coordinator/store/sample_events.h"
#include "coordinator/store/sqlite_store.h"
#include "fakes/fake_clock.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StateUpgrade : public ::testing::Test {
 protected:
  std::string File(const std::string& name) const { return JoinPath(root_.path(), name); }

  void Execute(const std::string& database, const std::string& sql) const {
    auto opened = SqliteConnection::Open(File(database), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const Status done = opened->Execute(sql);
    ASSERT_TRUE(done.ok()) << done;
  }
  int VersionOf(const std::string& database) const {
    return ReadDatabaseVersion(File(database)).value_or(-1);
  }

  // Creates a state directory of version 1 with the run "r" and a token of the user ana.
  void MakeFirstVersion() {
    {
      const auto store = SqliteStore::Open(File("state")).value();
      ASSERT_TRUE(store->Append({SampleSubmit("r", "1")}).ok());
      const auto tokens = TokenStore::Open(File("state/security"), clock_).value();
      ASSERT_TRUE(tokens->Create({.name = "ana", .roles = {{"*", Role::kViewer}}}).ok());
    }
    Execute("state/gp.db",
            "DROP TABLE upgrades; DROP TABLE ended_runs; DROP TABLE ended_run_labels; "
            "DROP TABLE storage; PRAGMA user_version = 1");
  }

  // Opens the state as a coordinator does at its start. Returns the directory of the backup.
  StatusOr<std::string> Start() {
    ASSIGN_OR_RETURN(auto lock, LockState(File("state")));
    ASSIGN_OR_RETURN(const std::string backup, BackUpOlderState(File("state"), lock, clock_));
    ASSIGN_OR_RETURN(const auto store,
                     SqliteStore::Open(File("state"), std::move(lock), {.backup = backup}));
    ASSIGN_OR_RETURN(const Cluster cluster, ReplayStore(*store));
    if (cluster.FindRun(RunId("r")) == nullptr) return DataLoss("the run is gone");
    return backup;
  }

  const TemporaryDirectory root_;
  FakeClock clock_;
};

TEST_F(StateUpgrade, AnOlderStateIsBackedUpBeforeItIsMigrated) {
  MakeFirstVersion();
  const auto backup = Start();
  ASSERT_TRUE(backup.ok()) << backup.status();
  EXPECT_EQ(*backup, File("state/backups/version-1"));
  EXPECT_EQ(VersionOf("state/backups/version-1/gp.db"), 1);
  EXPECT_EQ(VersionOf("state/gp.db"), StoreDatabase().newest());
  ExpectPrivate(File("state/backups"));
  EXPECT_EQ(*Start(), "") << "there is nothing to migrate any more";
}

TEST_F(StateUpgrade, ADatabaseOfUsersAloneIsReasonEnoughForABackup) {
  MakeFirstVersion();
  ASSERT_TRUE(Start().ok());
  Execute("state/security/tokens.db", "PRAGMA user_version = 1");
  EXPECT_EQ(*Start(), File(fmt::format("state/backups/version-{}", StoreDatabase().newest())));
}

TEST_F(StateUpgrade, ANewStateNeedsNoBackup) {
  ASSERT_TRUE(SqliteStore::Open(File("state")).ok());
  EXPECT_EQ(*BackUpOlderState(File("state"), *LockState(File("state")), clock_), "");
  EXPECT_FALSE(FileExists(File("state/backups")));
}

TEST_F(StateUpgrade, ABackupIsTakenAnewAndNotOverTheOneThatIsThere) {
  MakeFirstVersion();
  ASSERT_TRUE(MakeDirectories(File("state/backups/version-1")).ok());
  EXPECT_EQ(*Start(), File("state/backups/version-1-2"));
}

TEST_F(StateUpgrade, WithoutABackupNothingIsMigrated) {
  MakeFirstVersion();
  ASSERT_TRUE(WriteFileAtomically(File("state/backups"), "in the way").ok());
  EXPECT_FALSE(Start().ok());
  EXPECT_EQ(VersionOf("state/gp.db"), 1);
}

// SQLite fails to open a directory, just as it fails to open a file when too many files are open.
TEST_F(StateUpgrade, AStateWhoseVersionCannotBeReadIsNotTakenForANewOne) {
  MakeFirstVersion();
  ASSERT_EQ(rename(File("state/gp.db").c_str(), File("aside").c_str()), 0);
  ASSERT_TRUE(MakeDirectories(File("state/gp.db")).ok());
  const Status refused = Start().status();
  EXPECT_THAT(Message(refused), HasSubstr("read the version of " + File("state/gp.db")));
}

TEST_F(StateUpgrade, ADamagedDatabaseIsReportedByTheOneThatOpensIt) {
  MakeFirstVersion();
  ASSERT_TRUE(WriteFileAtomically(File("state/gp.db"), std::string(8192, 'x')).ok());
  const Status refused = Start().status();
  EXPECT_EQ(refused.code(), StatusCode::kDataLoss) << refused;
  EXPECT_THAT(Message(refused), HasSubstr(std::string(StoreDatabase().when_damaged)));
}

TEST_F(StateUpgrade, ANewerStateIsRefusedWithTheWayBack) {
  MakeFirstVersion();
  ASSERT_TRUE(Start().ok());
  const int newer = StoreDatabase().newest() + 1;
  Execute("state/gp.db", fmt::format("PRAGMA user_version = {0}; INSERT INTO upgrades VALUES "
                                     "({0}, 'gp 7.0', '/backups/it''s here')",
                                     newer));
  const Status refused = Start().status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused),
              HasSubstr(fmt::format(
                  "the store {} has version {}, written by a newer gp (gp 7.0, which left "
                  "the backup /backups/it's here)",
                  File("state/gp.db"), newer)));
  EXPECT_THAT(Message(refused), HasSubstr("restore (--restore) a backup that this version reads: " +
                                          File("state/backups/version-1")));
}

TEST_F(StateUpgrade, ANewerDatabaseOfUsersIsRefusedBeforeTheStoreIsMigrated) {
  MakeFirstVersion();
  Execute("state/security/tokens.db", "PRAGMA user_version = 9");
  const Status refused = Start().status();
  EXPECT_THAT(Message(refused), HasSubstr("the token store " + File("state/security/tokens.db")));
  EXPECT_THAT(Message(refused), Not(HasSubstr("--restore"))) << "there is no backup";
  EXPECT_EQ(VersionOf("state/gp.db"), 1);
}

TEST_F(StateUpgrade, ABackupOfANewerVersionIsNotRestored) {
  MakeFirstVersion();
  ASSERT_TRUE(BackUpState(File("state"), File("copy"), clock_).ok());
  Execute("copy/security/tokens.db", "PRAGMA user_version = 9");
  ASSERT_TRUE(RemoveTree(File("state")).ok());
  const Status refused =
      RestoreState({.state_dir = File("state"), .backup = File("copy")}, clock_).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused;
  EXPECT_FALSE(FileExists(File("state")));
}

TEST_F(StateUpgrade, TheBackupIsRestoredToTheVersionThatItHas) {
  MakeFirstVersion();
  ASSERT_TRUE(Start().ok());
  ASSERT_EQ(rename(File("state").c_str(), File("aside").c_str()), 0);
  const auto restored =
      RestoreState({.state_dir = File("state"), .backup = File("aside/backups/version-1")}, clock_);
  // The run never had a directory, so only the message proves that the backup was restored.
  EXPECT_THAT(restored.ok() ? *restored : Message(restored.status()), HasSubstr("1 runs continue"));
}

}  // namespace
}  // namespace gp::coordinator

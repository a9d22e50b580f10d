#include <sqlite3.h>
#include <sys/stat.h>

#include "coordinator/private_files.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/store_contract.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

struct MemoryFixture {
  Store& Open() {
    store = std::make_unique<MemoryStore>(disk);
    return *store;
  }
  void TakeOver() { MemoryStore other(disk); }
  void SetFull(bool full) {
    MutexLock lock(disk.mutex);
    disk.full = full;
  }

  MemoryStore::Disk disk;
  std::unique_ptr<MemoryStore> store;
};

struct SqliteFixture {
  Store& Open() {
    store.reset();
    auto opened = SqliteStore::Open(directory.path());
    EXPECT_TRUE(opened.ok()) << opened.status();
    store = std::move(*opened);
    return *store;
  }
  std::string path() const { return JoinPath(directory.path(), "gp.db"); }
  void Execute(const char* sql) const {
    auto other = SqliteConnection::Open(path(), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(other.ok()) << other.status();
    const Status status = other->Execute(sql);
    ASSERT_TRUE(status.ok()) << status;
  }
  // Simulates a second coordinator. The lock normally prevents one, but not on a copy of the file
  // that was restored by hand.
  void TakeOver() const { Execute("UPDATE coordinator SET generation = generation + 1"); }
  void SetFull(bool full) { store->LimitPages(full ? 64 : 1 << 20); }

  TemporaryDirectory directory;
  std::unique_ptr<SqliteStore> store;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreContract, MemoryFixture);
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, StoreContract, SqliteFixture);

TEST(SqliteStore, ASecondCoordinatorIsRefusedInWords) {
  SqliteFixture fixture;
  fixture.Open();
  const auto second = SqliteStore::Open(fixture.directory.path());
  ASSERT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(second.status()).find(fixture.directory.path()), std::string::npos);
}

TEST(SqliteStore, ItsFilesAreForItsUserAlone) {
  const TemporaryDirectory directory;
  const std::string state = JoinPath(directory.path(), "state");
  const mode_t before = umask(0);
  const auto store = SqliteStore::Open(state);
  umask(before);
  ASSERT_TRUE(store.ok()) << store.status();
  ExpectPrivate(state);
}

TEST(SqliteStore, ABatchThatItRefusesLeavesNothingAndTheNextOneIsTaken) {
  SqliteFixture fixture;
  Store& store = fixture.Open();
  ASSERT_TRUE(store.Append({SampleSubmit("a", "1")}).ok());
  EXPECT_FALSE(store.Append({SampleSubmit("b", "2"), SampleSubmit("c", "1")}).ok())
      << "request 1 was answered";
  EXPECT_EQ(store.Append({SampleSubmit("d", "3")}).value(), 2u);
  EXPECT_EQ(LoadAll(store).size(), 2u);
}

TEST(SqliteStore, AStoreOfANewerVersionIsRefused) {
  SqliteFixture fixture;
  fixture.Open();
  fixture.store.reset();
  fixture.Execute("PRAGMA user_version = 99");
  const auto opened = SqliteStore::Open(fixture.directory.path());
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(opened.status()).find("99"), std::string::npos);
}

TEST(SqliteStore, ADamagedFileIsFoundAtStart) {
  SqliteFixture fixture;
  fixture.Open();
  fixture.store.reset();
  ASSERT_TRUE(WriteFileAtomically(fixture.path(), std::string(8192, 'x')).ok());
  const auto opened = SqliteStore::Open(fixture.directory.path());
  EXPECT_EQ(opened.status().code(), StatusCode::kDataLoss) << opened.status();
  EXPECT_NE(Message(opened.status()).find("gp.db"), std::string::npos);
}

TEST(SqliteStore, AMissingRecordIsNoticed) {
  SqliteFixture fixture;
  ASSERT_TRUE(fixture.Open().Append(OneOfEachKind()).ok());
  fixture.Execute("DELETE FROM records WHERE sequence = 2");
  const Status status = fixture.store->Load([](const StoredEvent&) {});
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(Message(status).find("record 2"), std::string::npos);
}

// The index is filled from all records, labels that were given later included.
TEST(SqliteStore, AnIndexThatIsMadeAgainHasTheLabelsOfEndedRuns) {
  SqliteFixture fixture;
  AppendEndedRuns(0, 3, fixture.Open());
  const Event change{IdOfMany(1), At(1), "user u", "r", RunAnnotated{{{"best", "yes"}}, {}, {}}};
  ASSERT_TRUE(fixture.store->Append({change}).ok());
  fixture.Execute("DELETE FROM ended_runs; DELETE FROM ended_run_labels");
  Store& store = fixture.Open();
  EXPECT_EQ(ListedIds(store, {.labels = {{"best", "yes"}}}, {}), std::vector<RunId>{IdOfMany(1)});
}

// A file of version 2 has no index of ended runs.
TEST(SqliteStore, AnOlderFileGetsItsIndexOfEndedRuns) {
  SqliteFixture fixture;
  AppendEndedRuns(0, 50, fixture.Open());
  ASSERT_TRUE(fixture.store->Append({SubmitOfMany(50)}).ok());
  fixture.store.reset();
  fixture.Execute(
      "DROP TABLE ended_runs; DROP TABLE ended_run_labels; DROP TABLE storage; "
      "DELETE FROM upgrades WHERE version > 2; PRAGMA user_version = 2");
  Store& store = fixture.Open();
  for (const RunQuery& query : ManyQueries()) {
    EXPECT_EQ(ListedIds(store, query, {}), EndedByHand(50, query, {})) << CanonicalText(query);
  }
}

// Earlier versions allowed '=' in a label's key.
TEST(SqliteStore, AnOlderIndexOfEndedRunsFindsLabelsWhoseKeysHoldAnEqualsSign) {
  SqliteFixture fixture;
  AppendEndedRuns(0, 50, fixture.Open());
  fixture.store.reset();
  fixture.Execute(
      "UPDATE ended_run_labels SET key = 'a=b', value = substr(value, 3) WHERE key = 'a'");
  Store& store = fixture.Open();
  for (const RunQuery& query : ManyQueries()) {
    EXPECT_EQ(ListedIds(store, query, {}), EndedByHand(50, query, {})) << CanonicalText(query);
  }
}

TEST(SqliteStore, ARecordThatCannotBeIndexedIsNamed) {
  SqliteFixture fixture;
  ASSERT_TRUE(fixture.Open().Append({SampleSubmit("a", "1"), SampleSubmit("b", "2")}).ok());
  fixture.store.reset();
  fixture.Execute("UPDATE records SET record = x'ffff' WHERE sequence = 2");
  const auto opened = SqliteStore::Open(fixture.directory.path());
  ASSERT_EQ(opened.status().code(), StatusCode::kDataLoss) << opened.status();
  EXPECT_NE(Message(opened.status()).find("record 2"), std::string::npos) << opened.status();
}

// Measures steps of SQLite's virtual machine instead of time.
TEST(SqliteStore, APageOfEndedRunsCostsTheSameHoweverManyThereAre) {
  using Names = std::set<std::string>;
  const RunQuery queries[] = {{},
                              {.states = {RunState::kFailed}},
                              {.namespaces = Names{"team1"}},
                              {.submitted_by = "user u4"},
                              {.labels = {{"group", "3"}}}};
  constexpr int kFew = 500;
  constexpr int kMany = 5000;
  constexpr size_t kPage = 20;
  SqliteFixture fixture;
  fixture.Open();
  const auto steps_of = [&](const RunQuery& query, const EndedRange& range) {
    EXPECT_EQ(fixture.store->ListEnded(query, range)->size(), kPage);
    return fixture.store->list_steps();
  };
  AppendEndedRuns(0, kFew, *fixture.store);
  std::vector<int64_t> few;
  for (const RunQuery& query : queries) few.push_back(steps_of(query, {.limit = kPage}));
  const int64_t few_since = steps_of({}, {.after = 2 * kFew - 100, .limit = kPage});
  AppendEndedRuns(kFew, kMany, *fixture.store);
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_LE(steps_of(queries[i], {.limit = kPage}), few[i] + 10) << CanonicalText(queries[i]);
    EXPECT_LE(steps_of(queries[i], {.before = kMany, .limit = kPage}), few[i] + 10)
        << CanonicalText(queries[i]) << " in the middle";
  }
  EXPECT_LE(steps_of({}, {.after = 2 * kMany - 100, .limit = kPage}), few_since + 10);
}

TEST(Codec, RefusesEveryTruncatedRecordOrReadsLess) {
  const std::string whole = EncodeRecord(1, OneOfEachKind()[2]);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto decoded = DecodeRecord(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(!decoded.ok() || EncodeRecord(1, decoded->event) != whole) << size;
  }
}

}  // namespace
}  // namespace gp::coordinator

#include "coordinator/store/sqlite_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "coordinator/store/codec.h"
#include "coordinator/store/database_file.h"
#include "coordinator/store/stored_paths.h"

namespace gp::coordinator {
namespace {

constexpr const char* kMigrations[] = {
    R"(CREATE TABLE records(
         sequence INTEGER PRIMARY KEY,
         run_id TEXT NOT NULL,
         record BLOB NOT NULL);
       CREATE INDEX records_by_run ON records(run_id, sequence);
       CREATE TABLE requests(
         request_id TEXT PRIMARY KEY,
         run_id TEXT NOT NULL,
         body_digest TEXT NOT NULL,
         sequence INTEGER NOT NULL) WITHOUT ROWID;
       CREATE TABLE checkpoints(
         run_id TEXT NOT NULL,
         step INTEGER NOT NULL,
         epoch INTEGER NOT NULL,
         directory TEXT NOT NULL,
         manifest_digest TEXT NOT NULL,
         retired INTEGER NOT NULL DEFAULT 0,
         sequence INTEGER NOT NULL,
         PRIMARY KEY(run_id, step)) WITHOUT ROWID;
       CREATE TABLE coordinator(id INTEGER PRIMARY KEY CHECK (id = 1), generation INTEGER NOT NULL);
       INSERT INTO coordinator VALUES (1, 0);)",
    // Records which program migrated the file to which version, and the backup taken before.
    R"(CREATE TABLE upgrades(
         version INTEGER PRIMARY KEY,
         program TEXT NOT NULL,
         backup TEXT NOT NULL);)",
    EndedRunsTable::kMigration, StorageTable::kMigration,
    // The tables stay. From here on there may be records of pauses and legs, which an earlier
    // program cannot read.
    "-- version 5\n",
    // The same for records of deletions, pins, prunes, labels and notes.
    "-- version 6\n",
    // Nothing read it: the catalogue follows from the records. From here on a lost checkpoint may
    // be a superseded one.
    "DROP TABLE IF EXISTS checkpoints;",
    // The tables stay. From here on there may be records of sweeps and of groups that lost ranks.
    "-- version 8\n",
    // The same for records of ranks that join a group, and for fields of runs that must not be
    // lost.
    "-- version 9\n"};

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

DatabaseFile StoreDatabase() {
  return {.name = "gp.db",
          .what = "store",
          .migrations = kMigrations,
          .when_damaged = "restore it from a backup"};
}

StatusOr<daemon::StateLock> LockState(const std::string& state_dir) {
  RETURN_IF_ERROR(WithContext(MakeDirectories(state_dir, 0700), "state directory"));
  return daemon::StateLock::Acquire(state_dir, daemon::kCoordinatorLockName, "another coordinator");
}

std::string WrittenBy(const std::string& state_dir) {
  const std::string path = JoinPath(state_dir, StoreDatabase().name);
  auto database = SqliteConnection::Open(path, SQLITE_OPEN_READONLY);
  if (!database.ok()) return "";
  auto newest =
      database->Prepare("SELECT program, backup FROM upgrades ORDER BY version DESC LIMIT 1");
  if (!newest.ok() || !newest->Step().value_or(false)) return "";
  const std::string backup = newest->Text(1);
  return fmt::format(" ({}{})", newest->Text(0),
                     backup.empty() ? "" : ", which left the backup " + backup);
}

SqliteStore::SqliteStore(daemon::StateLock lock, SqliteConnection writer, SqliteConnection reader)
    : lock_(std::move(lock)), writer_(std::move(writer)), reader_(std::move(reader)) {}

StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& state_dir) {
  ASSIGN_OR_RETURN(auto lock, LockState(state_dir));
  return Open(state_dir, std::move(lock), {});
}

StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& state_dir,
                                                         daemon::StateLock lock,
                                                         const StoreOptions& options) {
  DatabaseFile file = StoreDatabase();
  file.at_end = fmt::format("INSERT INTO upgrades VALUES ({}, {}, {});", file.newest(),
                            Quoted("gp " GP_VERSION), Quoted(options.backup));
  const std::string path = JoinPath(state_dir, file.name);
  ASSIGN_OR_RETURN(SqliteConnection writer, OpenDatabase(path, file));
  ASSIGN_OR_RETURN(SqliteConnection reader, SqliteConnection::Open(path, SQLITE_OPEN_READONLY));
  std::unique_ptr<SqliteStore> store(
      new SqliteStore(std::move(lock), std::move(writer), std::move(reader)));
  RETURN_IF_ERROR(store->Prepare());
  RETURN_IF_ERROR(store->ClaimGeneration());
  RETURN_IF_ERROR(store->ended_runs_.FillOnce(store->writer_));
  RETURN_IF_ERROR(StorageTable::FillOnce(store->writer_));
  ASSIGN_OR_RETURN(store->storage_, StorageTable::Read(store->writer_));
  if (!options.storage_root.empty()) store->storage_.root = options.storage_root;
  return store;
}

Status SqliteStore::Prepare() {
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&insert_record_, "INSERT INTO records VALUES (?, ?, ?)"},
      {&insert_request_, "INSERT INTO requests VALUES (?, ?, ?, ?)"},
      {&select_generation_, "SELECT generation FROM coordinator"}};
  for (const auto& [statement, sql] : statements) {
    ASSIGN_OR_RETURN(*statement, writer_.Prepare(sql));
  }
  return ended_runs_.Prepare(writer_);
}

Status SqliteStore::ClaimGeneration() {
  RETURN_IF_ERROR(writer_.Execute(
      "BEGIN IMMEDIATE; UPDATE coordinator SET generation = generation + 1; COMMIT"));
  ASSIGN_OR_RETURN(const std::string generation,
                   writer_.QueryText("SELECT generation FROM coordinator"));
  ASSIGN_OR_RETURN(const std::string last,
                   writer_.QueryText("SELECT ifnull(max(sequence), 0) FROM records"));
  generation_ = std::stoull(generation);
  last_sequence_ = std::stoull(last);
  return OkStatus();
}

Status SqliteStore::RaiseGeneration(uint64_t at_least) {
  const uint64_t raised = std::max(generation_, at_least);
  RETURN_IF_ERROR(writer_.Execute(
      fmt::format("BEGIN IMMEDIATE; UPDATE coordinator SET generation = {}; COMMIT", raised)));
  generation_ = raised;
  return OkStatus();
}

Status SqliteStore::KeepStorage(const std::string& identity) {
  storage_.identity = identity;
  return WithContext(StorageTable::Write(writer_, storage_), "store");
}

Status SqliteStore::CheckGeneration() {
  ASSIGN_OR_RETURN(const bool row, select_generation_.Step());
  const uint64_t stored = row ? static_cast<uint64_t>(select_generation_.Int(0)) : 0;
  select_generation_.Reset();
  if (stored == generation_) return OkStatus();
  return Aborted("another coordinator took over the store (generation {}; this one has {})", stored,
                 generation_);
}

Status SqliteStore::Insert(uint64_t sequence, const Event& absolute) {
  const Event event = WithRelativePath(absolute, storage_.root);
  const auto number = static_cast<int64_t>(sequence);
  const std::string& run = event.run.value();
  insert_record_.Bind(1, number).Bind(2, run).BindBlob(3, EncodeRecord(sequence, event));
  RETURN_IF_ERROR(insert_record_.Run());
  if (const auto* submitted = std::get_if<RunSubmitted>(&event.body)) {
    insert_request_.Bind(1, event.request_id).Bind(2, run);
    return insert_request_.Bind(3, submitted->submission.body_digest).Bind(4, number).Run();
  }
  if (const auto* ended = std::get_if<RunEnded>(&event.body)) {
    return ended_runs_.Add(event.run, sequence, ended->state);
  }
  const bool goes_on_or_away = std::holds_alternative<LegRequested>(event.body) ||
                               std::holds_alternative<RunDeleted>(event.body);
  if (goes_on_or_away) return ended_runs_.Remove(event.run);
  if (std::holds_alternative<RunAnnotated>(event.body)) return ended_runs_.SetLabels(event.run);
  return OkStatus();
}

Status SqliteStore::InsertAll(const std::vector<Event>& events) {
  RETURN_IF_ERROR(begin_.Run());
  RETURN_IF_ERROR(CheckGeneration());
  uint64_t sequence = last_sequence_;
  for (const Event& event : events) RETURN_IF_ERROR(Insert(++sequence, event));
  Failpoint("store.before_commit");
  RETURN_IF_ERROR(commit_.Run());
  Failpoint("store.after_commit");
  return OkStatus();
}

StatusOr<uint64_t> SqliteStore::Append(const std::vector<Event>& events) {
  const Status status = InsertAll(events);
  if (!status.ok()) {
    // SQLite may have rolled back by itself already.
    if (writer_.InTransaction()) RETURN_IF_ERROR(writer_.Execute("ROLLBACK"));
    return WithContext(status, "store");
  }
  const uint64_t first = last_sequence_ + 1;
  last_sequence_ += events.size();
  return first;
}

void SqliteStore::LimitPages(int pages_max) {
  const auto set = writer_.QueryText(fmt::format("PRAGMA max_page_count = {}", pages_max));
  GP_CHECK(set.ok(), "{}", Message(set.status()));
}

Status SqliteStore::Load(const std::function<void(const StoredEvent&)>& visit) {
  ASSIGN_OR_RETURN(SqliteStatement select,
                   writer_.Prepare("SELECT sequence, record FROM records ORDER BY sequence"));
  uint64_t expected = 1;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return OkStatus();
    const auto sequence = static_cast<uint64_t>(select.Int(0));
    if (sequence != expected) {
      return DataLoss("the store lacks record {}; restore it from a backup", expected);
    }
    StatusOr<StoredEvent> stored = DecodeRecord(select.Blob(1));
    if (!stored.ok()) return WithContext(stored.status(), fmt::format("store record {}", sequence));
    stored->event = WithAbsolutePath(std::move(stored->event), storage_.root);
    visit(*stored);
    ++expected;
  }
}

StatusOr<std::vector<StoredEvent>> SqliteStore::ReadRun(const RunId& run, uint64_t after,
                                                        int limit) {
  MutexLock lock(reader_mutex_);
  ASSIGN_OR_RETURN(SqliteStatement select,
                   reader_.Prepare("SELECT record FROM records WHERE run_id = ? AND sequence > ? "
                                   "ORDER BY sequence LIMIT ?"));
  select.Bind(1, run.value()).Bind(2, static_cast<int64_t>(after)).Bind(3, int64_t{limit});
  std::vector<StoredEvent> events;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return events;
    ASSIGN_OR_RETURN(StoredEvent stored, DecodeRecord(select.Blob(0)));
    stored.event = WithAbsolutePath(std::move(stored.event), storage_.root);
    events.push_back(std::move(stored));
  }
}

StatusOr<std::vector<EndedRun>> SqliteStore::ListEnded(const RunQuery& query,
                                                       const EndedRange& range) {
  MutexLock lock(reader_mutex_);
  auto runs = EndedRunsTable::List(reader_, query, range, list_steps_);
  if (!runs.ok()) return WithContext(runs.status(), "list ended runs");
  return runs;
}

int64_t SqliteStore::list_steps() {
  MutexLock lock(reader_mutex_);
  return list_steps_;
}

}  // namespace gp::coordinator

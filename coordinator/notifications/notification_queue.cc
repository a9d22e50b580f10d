#include "coordinator/notifications/notification_queue.h"

#include <algorithm>
#include <utility>

#include "base/file.h"

namespace gp::coordinator {
namespace {

constexpr const char* kMigrations[] = {
    R"(CREATE TABLE targets(
         name TEXT PRIMARY KEY,
         cursor INTEGER NOT NULL,
         dropped INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
       CREATE TABLE queue(
         id INTEGER PRIMARY KEY AUTOINCREMENT,
         target TEXT NOT NULL,
         key TEXT NOT NULL,
         body TEXT NOT NULL,
         at INTEGER NOT NULL,
         tries INTEGER NOT NULL DEFAULT 0,
         UNIQUE(target, key));
       CREATE INDEX queue_in_order ON queue(target, tries, id);
       CREATE TABLE waits(
         run_id TEXT PRIMARY KEY,
         sequence INTEGER NOT NULL) WITHOUT ROWID;)"};

constexpr char kCountQueued[] = "SELECT count(*) FROM queue WHERE target = ?";

int64_t MicrosOf(Timestamp at) { return at.time_since_epoch().count(); }

int64_t Signed(uint64_t sequence) { return static_cast<int64_t>(sequence); }

}  // namespace

DatabaseFile NotificationDatabase() {
  return {.name = "notifications.db",
          .what = "queue of notifications",
          .migrations = kMigrations,
          .when_damaged =
              "restore it from a backup, or remove it: the notifications in it are then not sent"};
}

NotificationQueue::NotificationQueue(SqliteConnection database, const QueueLimits& limits)
    : limits_(limits), database_(std::move(database)) {}

StatusOr<std::unique_ptr<NotificationQueue>> NotificationQueue::Open(const std::string& state_dir,
                                                                     const QueueLimits& limits) {
  const DatabaseFile file = NotificationDatabase();
  ASSIGN_OR_RETURN(SqliteConnection database, OpenDatabase(JoinPath(state_dir, file.name), file));
  return std::unique_ptr<NotificationQueue>(new NotificationQueue(std::move(database), limits));
}

Status NotificationQueue::EndTransaction(const Status& work) {
  const Status status = work.ok() ? database_.Execute("COMMIT") : work;
  // SQLite may have rolled back by itself already.
  if (!status.ok() && database_.InTransaction()) {
    RETURN_IF_ERROR(database_.Execute("ROLLBACK"));
  }
  return status;
}

StatusOr<int64_t> NotificationQueue::Number(const std::string& sql, const std::string& target) {
  ASSIGN_OR_RETURN(SqliteStatement select, database_.Prepare(sql));
  ASSIGN_OR_RETURN(const bool row, select.Bind(1, target).Step());
  return row ? select.Int(0) : 0;
}

StatusOr<std::vector<std::string>> NotificationQueue::StoredTargets() {
  ASSIGN_OR_RETURN(SqliteStatement select, database_.Prepare("SELECT name FROM targets"));
  std::vector<std::string> names;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return names;
    names.push_back(select.Text(0));
  }
}

Status NotificationQueue::Forget(const std::string& target) {
  for (const char* sql :
       {"DELETE FROM queue WHERE target = ?", "DELETE FROM targets WHERE name = ?"}) {
    ASSIGN_OR_RETURN(SqliteStatement remove, database_.Prepare(sql));
    RETURN_IF_ERROR(remove.Bind(1, target).Run());
  }
  return OkStatus();
}

Status NotificationQueue::ReplaceTargets(const std::vector<std::string>& targets, uint64_t newest,
                                         TargetCounts& forgotten) {
  ASSIGN_OR_RETURN(const std::vector<std::string> stored, StoredTargets());
  for (const std::string& name : stored) {
    if (std::ranges::find(targets, name) != targets.end()) continue;
    ASSIGN_OR_RETURN(forgotten[name], Number(kCountQueued, name));
    RETURN_IF_ERROR(Forget(name));
  }
  ASSIGN_OR_RETURN(SqliteStatement add,
                   database_.Prepare("INSERT OR IGNORE INTO targets(name, cursor) VALUES (?, ?)"));
  for (const std::string& name : targets) {
    RETURN_IF_ERROR(add.Bind(1, name).Bind(2, Signed(newest)).Run());
  }
  // The log is shorter than before if it was restored from a backup that is older than this file.
  ASSIGN_OR_RETURN(SqliteStatement clamp,
                   database_.Prepare("UPDATE targets SET cursor = min(cursor, ?)"));
  return clamp.Bind(1, Signed(newest)).Run();
}

StatusOr<TargetCounts> NotificationQueue::SetTargets(const std::vector<std::string>& targets,
                                                     uint64_t newest) {
  MutexLock lock(mutex_);
  TargetCounts forgotten;
  RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE"));
  RETURN_IF_ERROR(EndTransaction(ReplaceTargets(targets, newest, forgotten)));
  return forgotten;
}

StatusOr<uint64_t> NotificationQueue::Cursor() {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(SqliteStatement select,
                   database_.Prepare("SELECT ifnull(min(cursor), 0) FROM targets"));
  RETURN_IF_ERROR(select.Step().status());
  return static_cast<uint64_t>(select.Int(0));
}

StatusOr<std::map<RunId, uint64_t>> NotificationQueue::ReportedWaits() {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(SqliteStatement select, database_.Prepare("SELECT run_id, sequence FROM waits"));
  std::map<RunId, uint64_t> waits;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return waits;
    waits[RunId(select.Text(0))] = static_cast<uint64_t>(select.Int(1));
  }
}

Status NotificationQueue::Insert(const QueueAddition& addition) {
  ASSIGN_OR_RETURN(SqliteStatement forget, database_.Prepare("DELETE FROM waits WHERE run_id = ?"));
  for (const RunId& run : addition.ended_waits) {
    RETURN_IF_ERROR(forget.Bind(1, run.value()).Run());
  }
  ASSIGN_OR_RETURN(SqliteStatement insert,
                   database_.Prepare("INSERT OR IGNORE INTO queue(target, key, body, at) "
                                     "SELECT name, ?, ?, ? FROM targets "
                                     "WHERE name = ? AND (?5 = 0 OR cursor < ?5)"));
  for (const QueueAddition::Row& row : addition.rows) {
    insert.Bind(1, row.key).Bind(2, row.body).Bind(3, MicrosOf(row.at));
    RETURN_IF_ERROR(insert.Bind(4, row.target).Bind(5, Signed(row.sequence)).Run());
  }
  ASSIGN_OR_RETURN(SqliteStatement report,
                   database_.Prepare("INSERT OR REPLACE INTO waits VALUES (?, ?)"));
  for (const auto& [run, sequence] : addition.waits) {
    RETURN_IF_ERROR(report.Bind(1, run.value()).Bind(2, Signed(sequence)).Run());
  }
  ASSIGN_OR_RETURN(SqliteStatement advance,
                   database_.Prepare("UPDATE targets SET cursor = max(cursor, ?)"));
  return advance.Bind(1, Signed(addition.through)).Run();
}

StatusOr<int64_t> NotificationQueue::DropExcess(const std::string& target, Timestamp now) {
  const auto oldest = now - std::chrono::duration_cast<std::chrono::microseconds>(limits_.age_max);
  ASSIGN_OR_RETURN(const int64_t before, Number(kCountQueued, target));
  ASSIGN_OR_RETURN(SqliteStatement old,
                   database_.Prepare("DELETE FROM queue WHERE target = ? AND at < ?"));
  RETURN_IF_ERROR(old.Bind(1, target).Bind(2, MicrosOf(oldest)).Run());
  ASSIGN_OR_RETURN(SqliteStatement excess,
                   database_.Prepare("DELETE FROM queue WHERE id IN (SELECT id FROM queue WHERE "
                                     "target = ? ORDER BY id DESC LIMIT -1 OFFSET ?)"));
  RETURN_IF_ERROR(excess.Bind(1, target).Bind(2, limits_.queued_max).Run());
  ASSIGN_OR_RETURN(const int64_t after, Number(kCountQueued, target));
  if (before == after) return 0;
  ASSIGN_OR_RETURN(SqliteStatement count,
                   database_.Prepare("UPDATE targets SET dropped = dropped + ? WHERE name = ?"));
  RETURN_IF_ERROR(count.Bind(1, before - after).Bind(2, target).Run());
  return before - after;
}

Status NotificationQueue::InsertAndDrop(const QueueAddition& addition, Timestamp now,
                                        TargetCounts& dropped) {
  RETURN_IF_ERROR(Insert(addition));
  ASSIGN_OR_RETURN(const std::vector<std::string> targets, StoredTargets());
  for (const std::string& target : targets) {
    ASSIGN_OR_RETURN(const int64_t count, DropExcess(target, now));
    if (count > 0) dropped[target] = count;
  }
  return OkStatus();
}

StatusOr<TargetCounts> NotificationQueue::Add(const QueueAddition& addition, Timestamp now) {
  MutexLock lock(mutex_);
  TargetCounts dropped;
  RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE"));
  RETURN_IF_ERROR(EndTransaction(InsertAndDrop(addition, now, dropped)));
  return dropped;
}

StatusOr<std::optional<QueuedNotification>> NotificationQueue::Next(const std::string& target) {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(SqliteStatement select,
                   database_.Prepare("SELECT id, key, body, tries FROM queue WHERE target = ? "
                                     "ORDER BY tries, id LIMIT 1"));
  ASSIGN_OR_RETURN(const bool row, select.Bind(1, target).Step());
  if (!row) return std::nullopt;
  return QueuedNotification{select.Int(0), select.Text(1), select.Text(2),
                            static_cast<int>(select.Int(3))};
}

Status NotificationQueue::RunWith(const std::string& sql, int64_t id) {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(SqliteStatement statement, database_.Prepare(sql));
  return statement.Bind(1, id).Run();
}

Status NotificationQueue::Sent(int64_t id) { return RunWith("DELETE FROM queue WHERE id = ?", id); }

Status NotificationQueue::Failed(int64_t id) {
  return RunWith("UPDATE queue SET tries = tries + 1 WHERE id = ?", id);
}

StatusOr<QueueState> NotificationQueue::StateOf(const std::string& target) {
  MutexLock lock(mutex_);
  QueueState state;
  ASSIGN_OR_RETURN(SqliteStatement select,
                   database_.Prepare("SELECT count(*), ifnull(min(at), 0) FROM queue "
                                     "WHERE target = ?"));
  RETURN_IF_ERROR(select.Bind(1, target).Step().status());
  state.queued = select.Int(0);
  if (state.queued > 0) state.oldest = Timestamp(std::chrono::microseconds(select.Int(1)));
  ASSIGN_OR_RETURN(state.dropped, Number("SELECT dropped FROM targets WHERE name = ?", target));
  return state;
}

}  // namespace gp::coordinator

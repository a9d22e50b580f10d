#include "coordinator/notifications/event_log.h"

#include "base/file.h"
#include "coordinator/store/codec.h"
#include "coordinator/store/sqlite_store.h"

namespace gp::coordinator {
namespace {

// Resets the statement at the end: an open one would keep SQLite from shortening its journal.
StatusOr<std::vector<StoredEvent>> ReadRows(SqliteStatement& select) {
  std::vector<StoredEvent> events;
  Status status;
  while (status.ok()) {
    const StatusOr<bool> row = select.Step();
    status = row.status();
    if (!status.ok() || !*row) break;
    StatusOr<StoredEvent> stored = DecodeRecord(select.Blob(0));
    status = stored.status();
    if (stored.ok()) events.push_back(*std::move(stored));
  }
  select.Reset();
  RETURN_IF_ERROR(status);
  return events;
}

}  // namespace

StatusOr<EventLog> EventLog::Open(const std::string& state_dir) {
  EventLog log;
  ASSIGN_OR_RETURN(log.database_, SqliteConnection::Open(JoinPath(state_dir, StoreDatabase().name),
                                                         SQLITE_OPEN_READONLY));
  ASSIGN_OR_RETURN(
      log.select_,
      log.database_.Prepare("SELECT record FROM records WHERE sequence > ? AND sequence <= ? "
                            "ORDER BY sequence LIMIT ?"));
  ASSIGN_OR_RETURN(log.select_run_,
                   log.database_.Prepare("SELECT record FROM records WHERE run_id = ? AND "
                                         "sequence <= ? ORDER BY sequence"));
  return log;
}

StatusOr<std::vector<StoredEvent>> EventLog::Read(uint64_t after, uint64_t through, int limit) {
  select_.Bind(1, static_cast<int64_t>(after)).Bind(2, static_cast<int64_t>(through));
  select_.Bind(3, int64_t{limit});
  return ReadRows(select_);
}

StatusOr<std::vector<StoredEvent>> EventLog::ReadRun(const RunId& run, uint64_t through) {
  select_run_.Bind(1, run.value()).Bind(2, static_cast<int64_t>(through));
  return ReadRows(select_run_);
}

}  // namespace gp::coordinator

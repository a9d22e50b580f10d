#include "coordinator/store/storage_table.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "coordinator/store/codec.h"
#include "coordinator/store/stored_paths.h"

namespace gp::coordinator {
namespace {

struct RewrittenRecord {
  int64_t sequence = 0;
  std::string root;  // the storage root that was cut off the event's path
  Event event;
};

// The records that name paths, in order, with these paths made relative.
StatusOr<std::vector<RewrittenRecord>> RecordsWithPaths(SqliteConnection& writer) {
  ASSIGN_OR_RETURN(SqliteStatement select,
                   writer.Prepare("SELECT sequence, record FROM records ORDER BY sequence"));
  std::vector<RewrittenRecord> rewritten;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return rewritten;
    StatusOr<StoredEvent> stored = DecodeRecord(select.Blob(1));
    if (!stored.ok()) {
      return WithContext(stored.status(), fmt::format("store record {}", select.Int(0)));
    }
    std::string root = CutRoot(stored->event);
    if (root.empty()) continue;
    rewritten.push_back({select.Int(0), std::move(root), std::move(stored->event)});
  }
}

Status Rewrite(SqliteConnection& writer, const std::vector<RewrittenRecord>& records) {
  ASSIGN_OR_RETURN(SqliteStatement record,
                   writer.Prepare("UPDATE records SET record = ? WHERE sequence = ?"));
  for (const RewrittenRecord& one : records) {
    const std::string bytes = EncodeRecord(static_cast<uint64_t>(one.sequence), one.event);
    RETURN_IF_ERROR(record.BindBlob(1, bytes).Bind(2, one.sequence).Run());
  }
  return OkStatus();
}

Status Fill(SqliteConnection& writer) {
  ASSIGN_OR_RETURN(auto records, RecordsWithPaths(writer));
  const std::string root = records.empty() ? "" : records.back().root;
  // Paths in an older storage root stay absolute, because their files did not move to the last one.
  std::erase_if(records, [&](const RewrittenRecord& record) { return record.root != root; });
  RETURN_IF_ERROR(Rewrite(writer, records));
  return StorageTable::Write(writer, {.identity = "", .root = root});
}

}  // namespace

Status StorageTable::FillOnce(SqliteConnection& writer) {
  ASSIGN_OR_RETURN(const std::string filled,
                   writer.QueryText("SELECT EXISTS(SELECT 1 FROM storage)"));
  if (filled == "1") return OkStatus();
  RETURN_IF_ERROR(writer.Execute("BEGIN IMMEDIATE"));
  const Status status = Fill(writer);
  if (status.ok()) return writer.Execute("COMMIT");
  if (writer.InTransaction()) RETURN_IF_ERROR(writer.Execute("ROLLBACK"));
  return WithContext(status, "make the paths of the catalogue relative to the storage root");
}

StatusOr<KnownStorage> StorageTable::Read(SqliteConnection& connection) {
  ASSIGN_OR_RETURN(SqliteStatement select,
                   connection.Prepare("SELECT identity, root FROM storage"));
  ASSIGN_OR_RETURN(const bool row, select.Step());
  if (!row) return KnownStorage();
  return KnownStorage{select.Text(0), select.Text(1)};
}

Status StorageTable::Write(SqliteConnection& writer, const KnownStorage& storage) {
  ASSIGN_OR_RETURN(SqliteStatement replace,
                   writer.Prepare("INSERT OR REPLACE INTO storage VALUES (1, ?, ?)"));
  return replace.Bind(1, storage.identity).Bind(2, storage.root).Run();
}

}  // namespace gp::coordinator

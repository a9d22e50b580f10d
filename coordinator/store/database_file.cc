#include "coordinator/store/database_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/failpoint.h"
#include "base/file.h"

namespace gp::coordinator {
namespace {

Status MakePrivate(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoStatus(errno, "open", path);
  if (fchmod(file.get(), 0600) != 0) return ErrnoStatus(errno, "restrict access to", path);
  return OkStatus();
}

Status CheckIntegrity(SqliteConnection& database, const std::string& path,
                      const DatabaseFile& file) {
  const StatusOr<std::string> verdict = database.QueryText("PRAGMA quick_check(1)");
  if (verdict.ok() && *verdict == "ok") return OkStatus();
  return DataLoss("the {} {} is damaged ({}); {}", file.what, path,
                  verdict.ok() ? *verdict : Message(verdict.status()), file.when_damaged);
}

StatusOr<int> VersionOf(SqliteConnection& database) {
  ASSIGN_OR_RETURN(const std::string text, database.QueryText("PRAGMA user_version"));
  return std::stoi(text);
}

// Runs all migrations in one transaction, so a crash leaves either the old version or the newest
// one. The failpoints are only for existing files: a new file has nothing to lose.
Status Migrate(SqliteConnection& database, const std::string& path, const DatabaseFile& file) {
  ASSIGN_OR_RETURN(const int version, VersionOf(database));
  if (version > file.newest()) {
    return FailedPrecondition(
        "the {} {} has version {}, written by a newer gp; this gp reads versions up to {}; upgrade "
        "gp",
        file.what, path, version, file.newest());
  }
  if (version == file.newest()) return OkStatus();
  std::string sql = "BEGIN IMMEDIATE;";
  for (const char* migration : file.migrations.subspan(static_cast<size_t>(version))) {
    sql += migration;
  }
  sql += fmt::format("{} PRAGMA user_version = {}", file.at_end, file.newest());
  RETURN_IF_ERROR(WithContext(database.Execute(sql), fmt::format("migrate {}", path)));
  if (version > 0) Failpoint("database.before_migration_commit");
  RETURN_IF_ERROR(WithContext(database.Execute("COMMIT"), fmt::format("migrate {}", path)));
  if (version > 0) Failpoint("database.after_migration");
  return OkStatus();
}

}  // namespace

StatusOr<SqliteConnection> OpenDatabase(const std::string& path, const DatabaseFile& file) {
  RETURN_IF_ERROR(MakePrivate(path));
  ASSIGN_OR_RETURN(SqliteConnection database,
                   SqliteConnection::Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  RETURN_IF_ERROR(CheckIntegrity(database, path, file));
  RETURN_IF_ERROR(database.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"));
  RETURN_IF_ERROR(Migrate(database, path, file));
  RETURN_IF_ERROR(SyncDirectory(DirectoryOf(path)));
  return database;
}

StatusOr<int> ReadDatabaseVersion(const std::string& path) {
  RETURN_IF_ERROR(FileSize(path).status());
  ASSIGN_OR_RETURN(SqliteConnection database, SqliteConnection::Open(path, SQLITE_OPEN_READONLY));
  return VersionOf(database);
}

Status CopyDatabase(const std::string& path, const std::string& copy) {
  RETURN_IF_ERROR(MakePrivate(copy));  // VACUUM INTO accepts an empty file
  ASSIGN_OR_RETURN(SqliteConnection database, SqliteConnection::Open(path, SQLITE_OPEN_READONLY));
  ASSIGN_OR_RETURN(SqliteStatement vacuum, database.Prepare("VACUUM INTO ?"));
  RETURN_IF_ERROR(vacuum.Bind(1, copy).Run());
  const FileDescriptor written(open(copy.c_str(), O_RDONLY | O_CLOEXEC));
  if (!written.valid()) return ErrnoStatus(errno, "open", copy);
  if (fsync(written.get()) != 0) return ErrnoStatus(errno, "sync", copy);
  return OkStatus();
}

}  // namespace gp::coordinator

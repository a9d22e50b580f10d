#include "coordinator/store/sqlite.h"

namespace gp::coordinator {
namespace {

StatusCode CodeFor(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return StatusCode::kDataLoss;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return StatusCode::kUnavailable;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return StatusCode::kPermissionDenied;
    case SQLITE_CONSTRAINT:
      return StatusCode::kAlreadyExists;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

Status SqliteStatus(sqlite3* database, int code, const std::string& operation) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return OkStatus();
  const char* file = database == nullptr ? "" : sqlite3_db_filename(database, "main");
  return MakeStatus(CodeFor(code), "{} {}: {}", operation, file == nullptr ? "" : file,
                    database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database));
}

SqliteStatement& SqliteStatement::Bind(int index, std::string_view text) {
  sqlite3_bind_text(statement_.get(), index, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(int index, std::string_view bytes) {
  sqlite3_bind_blob(statement_.get(), index, bytes.data(), static_cast<int>(bytes.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int index, int64_t number) {
  sqlite3_bind_int64(statement_.get(), index, number);
  return *this;
}

StatusOr<bool> SqliteStatement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteStatus(sqlite3_db_handle(statement_.get()), code, "access");
}

Status SqliteStatement::Run() {
  const Status status = Step().status();
  Reset();
  return status;
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

int64_t SqliteStatement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

int64_t SqliteStatement::Steps() const {
  return sqlite3_stmt_status(statement_.get(), SQLITE_STMTSTATUS_VM_STEP, 0);
}

std::string SqliteStatement::Text(int column) const { return std::string(Blob(column)); }

std::string_view SqliteStatement::Blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes),
          static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

StatusOr<SqliteConnection> SqliteConnection::Open(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  SqliteConnection connection;
  connection.database_.reset(raw);
  RETURN_IF_ERROR(SqliteStatus(raw, code, "open " + path));
  sqlite3_busy_timeout(raw, 5000);
  sqlite3_extended_result_codes(raw, 1);
  return connection;
}

StatusOr<SqliteStatement> SqliteConnection::Prepare(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &raw, nullptr);
  SqliteStatement statement;
  statement.statement_.reset(raw);
  RETURN_IF_ERROR(SqliteStatus(database_.get(), code, "prepare for"));
  return statement;
}

Status SqliteConnection::Execute(const std::string& sql) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return SqliteStatus(database_.get(), code, "write");
}

StatusOr<std::string> SqliteConnection::QueryText(const std::string& sql) {
  ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? statement.Text(0) : std::string();
}

}  // namespace gp::coordinator

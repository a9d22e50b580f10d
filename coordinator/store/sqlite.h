// RAII wrappers for SQLite. One connection and its statements belong to one thread at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::coordinator {

// ResourceExhausted for a full disk, DataLoss for a damaged file, Unavailable for a locked one,
// PermissionDenied for one that cannot be opened or written, AlreadyExists for a violated
// constraint, else Internal. The message has the operation, the database and SQLite's own message.
Status SqliteStatus(sqlite3* database, int code, const std::string& operation);

class SqliteConnection;

// A prepared statement. Bind, Step, read columns, Reset.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  SqliteStatement& Bind(int index, std::string_view text);
  SqliteStatement& BindBlob(int index, std::string_view bytes);
  SqliteStatement& Bind(int index, int64_t number);
  // True when there is a row.
  StatusOr<bool> Step();
  // Runs a statement without rows and resets it.
  Status Run();
  void Reset();

  int64_t Int(int column) const;
  std::string Text(int column) const;
  // Number of instructions of SQLite's virtual machine that this statement has run: its cost,
  // independent of the speed of the computer.
  int64_t Steps() const;
  std::string_view Blob(int column) const;  // valid until the next Step or Reset

 private:
  friend class SqliteConnection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class SqliteConnection {
 public:
  SqliteConnection() = default;

  // `flags` of sqlite3_open_v2. Statements wait up to 5 s for a lock of another connection.
  static StatusOr<SqliteConnection> Open(const std::string& path, int flags);

  StatusOr<SqliteStatement> Prepare(const std::string& sql);
  Status Execute(const std::string& sql);
  StatusOr<std::string> QueryText(const std::string& sql);
  bool InTransaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace gp::coordinator

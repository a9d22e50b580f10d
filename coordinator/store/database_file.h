// Opens a SQLite file that only this user can read: the store, the tokens, the nodes. Functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "coordinator/store/sqlite.h"

namespace gp::coordinator {

struct DatabaseFile {
  std::string_view name;  // "security/tokens.db", below the state directory
  std::string_view what;  // "token store", for messages
  // Migration i brings a file of version i to version i + 1. A new file has version 0.
  std::span<const char* const> migrations;
  std::string_view when_damaged;  // advice for its owner: "restore it from a backup"
  std::string at_end = {};        // SQL at the end of the migrations' transaction, if there are any

  int newest() const { return static_cast<int>(migrations.size()); }
};

// Creates the file if absent. Sets its mode to 0600, also if it exists; SQLite gives its journals
// the same mode. Checks it (PRAGMA quick_check), migrates it to the newest version in one
// transaction, and makes every commit synced. Syncs its directory. REQUIRES: the directory exists.
// DataLoss when the file is damaged, FailedPrecondition when a newer gp wrote it.
StatusOr<SqliteConnection> OpenDatabase(const std::string& path, const DatabaseFile& file);

// Returns the version of the file at `path` without changing it. NotFound when the file is missing,
// DataLoss when it is damaged.
StatusOr<int> ReadDatabaseVersion(const std::string& path);

// Writes a consistent snapshot of the database to `copy`, which must not exist, even while others
// write. Mode 0600, synced; the caller syncs the directory.
Status CopyDatabase(const std::string& path, const std::string& copy);

}  // namespace gp::coordinator

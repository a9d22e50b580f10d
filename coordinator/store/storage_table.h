// StorageTable: the record of the storage root in gp.db (docs/formats/store.md), table `storage`.
// Owned by the thread of its connection.
#pragma once

#include <string>

#include "coordinator/store/sqlite.h"

namespace gp::coordinator {

struct KnownStorage {
  std::string identity;  // from its .gp-probe; empty: not known yet
  std::string root;      // its absolute path when it was last used
};

class StorageTable {
 public:
  // The table; a migration of gp.db.
  static constexpr char kMigration[] =
      R"(CREATE TABLE storage(
         id INTEGER PRIMARY KEY CHECK (id = 1),
         identity TEXT NOT NULL,
         root TEXT NOT NULL);)";

  // For a file whose records are older than the table: finds its last storage root and makes the
  // paths below it relative. In one transaction.
  static Status FillOnce(SqliteConnection& writer);
  static StatusOr<KnownStorage> Read(SqliteConnection& connection);
  static Status Write(SqliteConnection& writer, const KnownStorage& storage);
};

}  // namespace gp::coordinator

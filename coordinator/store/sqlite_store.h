// SqliteStore: the Store in one SQLite file, gp.db of a state directory (docs/formats/store.md).
// WAL and synchronous=FULL: an acknowledged Append survives power loss. ReadRun, ListEnded and
// generation may be called from any thread; all other methods belong to one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "coordinator/store/database_file.h"
#include "coordinator/store/ended_runs_table.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/storage_table.h"
#include "coordinator/store/store.h"
#include "daemon/state_lock.h"

namespace gp::coordinator {

// gp.db of a state directory.
DatabaseFile StoreDatabase();

// The lock that a coordinator holds on its state directory, which is made when absent.
StatusOr<daemon::StateLock> LockState(const std::string& state_dir);

// " (gp 0.3.0, which left the backup DIR)" for the program that migrated gp.db to its version;
// empty if that is not recorded.
std::string WrittenBy(const std::string& state_dir);

struct StoreOptions {
  // Where the state was copied before a migration (BackUpOlderState); recorded in `upgrades`.
  std::string backup;
  // The current storage root; empty: the one recorded in gp.db. Events name absolute paths in it,
  // the file stores them relative to it.
  std::string storage_root;
};

class SqliteStore final : public Store {
 public:
  // Checks the file's integrity, migrates it to this version, takes the next generation and fills
  // the tables that older versions lacked. FailedPrecondition: a newer gp wrote it. DataLoss: it is
  // damaged.
  static StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& state_dir,
                                                     daemon::StateLock lock,
                                                     const StoreOptions& options);
  // The same, but also takes the lock. FailedPrecondition also if another coordinator holds it.
  static StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& state_dir);

  // After a restore: makes the generation at least this, because nodes refuse a coordinator whose
  // generation is lower than one they have seen.
  Status RaiseGeneration(uint64_t at_least);

  // The storage root that the catalogue belongs to: its recorded identity and its current path.
  const KnownStorage& storage() const { return storage_; }
  // Records this identity and the current path in gp.db.
  Status KeepStorage(const std::string& identity);

  uint64_t generation() const override { return generation_; }
  StatusOr<uint64_t> Append(const std::vector<Event>& events) override;
  Status Load(const std::function<void(const StoredEvent&)>& visit) override;
  StatusOr<std::vector<StoredEvent>> ReadRun(const RunId& run, uint64_t after, int limit) override;
  StatusOr<std::vector<EndedRun>> ListEnded(const RunQuery& query,
                                            const EndedRange& range) override;

  // Limits the file's size, in pages of 4096 bytes. Tests use this to simulate a full disk.
  void LimitPages(int pages_max);
  // The steps of the last ListEnded (SqliteStatement::Steps); tests compare them.
  int64_t list_steps();

 private:
  SqliteStore(daemon::StateLock lock, SqliteConnection writer, SqliteConnection reader);

  Status Prepare();
  Status ClaimGeneration();
  Status CheckGeneration();
  Status Insert(uint64_t sequence, const Event& event);
  Status InsertAll(const std::vector<Event>& events);

  daemon::StateLock lock_;
  SqliteConnection writer_;
  SqliteStatement begin_, commit_, insert_record_, insert_request_, select_generation_;
  EndedRunsTable ended_runs_;
  KnownStorage storage_;  // the root does not change after Open
  uint64_t generation_ = 0;
  uint64_t last_sequence_ = 0;

  Mutex reader_mutex_;
  SqliteConnection reader_ GUARDED_BY(reader_mutex_);
  int64_t list_steps_ GUARDED_BY(reader_mutex_) = 0;
};

}  // namespace gp::coordinator

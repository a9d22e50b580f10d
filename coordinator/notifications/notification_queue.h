// NotificationQueue: the notifications that are still to be sent, and up to which event of the log
// each target has got its own, in notifications.db of the state directory (docs/formats/store.md).
// An own file, so that its writes never delay the store's. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "coordinator/state/ids.h"
#include "coordinator/state/time.h"
#include "coordinator/store/database_file.h"
#include "coordinator/store/sqlite.h"

namespace gp::coordinator {

DatabaseFile NotificationDatabase();

struct QueuedNotification {
  int64_t id = 0;
  std::string key;
  std::string body;
  int tries = 0;  // attempts that failed
};

// Additions to the queue, one transaction.
struct QueueAddition {
  struct Row {
    std::string target;
    std::string key;
    std::string body;
    Timestamp at{};         // when it happened
    uint64_t sequence = 0;  // number of its event; 0: it follows from no single event
  };

  std::vector<Row> rows;
  std::map<RunId, uint64_t> waits;  // waits that `rows` report, by run
  std::vector<RunId> ended_waits;   // these are forgotten first
  uint64_t through = 0;             // every event up to this one has been considered
};

struct QueueState {
  int64_t queued = 0;
  std::optional<Timestamp> oldest;  // of the queued ones
  int64_t dropped = 0;              // that were never sent, since the target was configured
};

// How many notifications, by target.
using TargetCounts = std::map<std::string, int64_t>;

struct QueueLimits {
  int64_t queued_max = 10'000;  // of each target; the oldest ones beyond it are dropped
  std::chrono::nanoseconds age_max = std::chrono::hours(72);
};

class NotificationQueue {
 public:
  static StatusOr<std::unique_ptr<NotificationQueue>> Open(const std::string& state_dir,
                                                           const QueueLimits& limits = {});

  // The targets of this start. A new one begins after the event `newest`, the last of the log; one
  // that is no longer configured is forgotten, with its queue. Returns how many notifications each
  // forgotten target had queued.
  StatusOr<TargetCounts> SetTargets(const std::vector<std::string>& targets, uint64_t newest);
  // Every event up to this one has been considered for every target.
  StatusOr<uint64_t> Cursor();
  // The reported waits that have not ended.
  StatusOr<std::map<RunId, uint64_t>> ReportedWaits();

  // Durable on OK. A row is skipped if its target has considered its event before. Then drops what
  // exceeds the limits; returns how many by target.
  StatusOr<TargetCounts> Add(const QueueAddition& addition, Timestamp now);

  // The next to send: among those with the fewest failed attempts the oldest, so that one that the
  // receiver always refuses does not hold up the others. Nullopt if the queue is empty.
  StatusOr<std::optional<QueuedNotification>> Next(const std::string& target);
  Status Sent(int64_t id);
  Status Failed(int64_t id);

  StatusOr<QueueState> StateOf(const std::string& target);

 private:
  NotificationQueue(SqliteConnection database, const QueueLimits& limits);

  // Commits if `work` is OK, otherwise rolls back and returns its error.
  Status EndTransaction(const Status& work) REQUIRES(mutex_);
  StatusOr<std::vector<std::string>> StoredTargets() REQUIRES(mutex_);
  Status Forget(const std::string& target) REQUIRES(mutex_);
  Status ReplaceTargets(const std::vector<std::string>& targets, uint64_t newest,
                        TargetCounts& forgotten) REQUIRES(mutex_);
  Status Insert(const QueueAddition& addition) REQUIRES(mutex_);
  Status InsertAndDrop(const QueueAddition& addition, Timestamp now, TargetCounts& dropped)
      REQUIRES(mutex_);
  StatusOr<int64_t> DropExcess(const std::string& target, Timestamp now) REQUIRES(mutex_);
  StatusOr<int64_t> Number(const std::string& sql, const std::string& target) REQUIRES(mutex_);
  Status RunWith(const std::string& sql, int64_t id);

  const QueueLimits limits_;
  Mutex mutex_;
  SqliteConnection database_ GUARDED_BY(mutex_);
};

}  // namespace gp::coordinator

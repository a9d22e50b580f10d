// EventLog: reads the coordinator's events from gp.db, over a connection of its own, so that
// neither the Reconciler nor users wait for it. Owned by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

class EventLog {
 public:
  // REQUIRES: the store exists. Paths in the events are relative to the storage root.
  static StatusOr<EventLog> Open(const std::string& state_dir);

  // Events with after < sequence <= through, at most `limit`, in order.
  StatusOr<std::vector<StoredEvent>> Read(uint64_t after, uint64_t through, int limit);
  // All events of one run with sequence <= through.
  StatusOr<std::vector<StoredEvent>> ReadRun(const RunId& run, uint64_t through);

 private:
  SqliteConnection database_;
  SqliteStatement select_, select_run_;
};

}  // namespace gp::coordinator

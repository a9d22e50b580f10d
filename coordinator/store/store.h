// Store: the coordinator's durable state. An append-only log of records, one transaction per
// batch, and the tables that are derived from it in the same transaction (requests,
// ended runs). One thread (the Reconciler) calls Append; ReadRun and ListEnded may be
// called from any thread.
// Implementations: SqliteStore, MemoryStore; both pass tests/coordinator/store/store_contract.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/state/event.h"
#include "coordinator/state/queries/run_query.h"

namespace gp::coordinator {

// A durable event with its place in the log.
struct StoredEvent {
  uint64_t sequence = 0;
  Event event;
};

// A run that has ended, as in the store's index.
struct EndedRun {
  RunId run;
  uint64_t submitted_sequence = 0;
};

// A part of the ended runs. `after`, `through` and `before` are sequence numbers of events.
struct EndedRange {
  uint64_t after = 0;             // it ended after this event
  uint64_t through = UINT64_MAX;  // and up to this one
  uint64_t before = UINT64_MAX;   // it was submitted before this one
  size_t limit = SIZE_MAX;
};

class Store {
 public:
  virtual ~Store() = default;

  // The generation of this coordinator process: higher than that of every earlier one on this
  // store, durable. Once a later coordinator has opened the store, Append returns Aborted.
  virtual uint64_t generation() const = 0;

  // All or nothing, durable on OK; assigns consecutive sequence numbers and returns the first.
  // ResourceExhausted when the disk is full (nothing was written; a later Append may succeed);
  // Aborted when another coordinator took over; any other error means that the outcome is unknown
  // and the process must end without acknowledging anything.
  virtual StatusOr<uint64_t> Append(const std::vector<Event>& events) = 0;

  // Calls `visit` for every event in order. DataLoss names the record that cannot be read.
  virtual Status Load(const std::function<void(const StoredEvent&)>& visit) = 0;

  // Events of one run with sequence > after, at most `limit`, in order.
  virtual StatusOr<std::vector<StoredEvent>> ReadRun(const RunId& run, uint64_t after,
                                                     int limit) = 0;

  // The matching ended runs of the range, newest submit first. Uses one index: the cost grows with
  // the runs that it reads and skips. It skips none if the query has no condition or a single one:
  // a namespace, a state, a user or a label.
  virtual StatusOr<std::vector<EndedRun>> ListEnded(const RunQuery& query,
                                                    const EndedRange& range) = 0;
};

}  // namespace gp::coordinator

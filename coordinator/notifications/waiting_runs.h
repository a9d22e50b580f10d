// WaitingRuns: since when each run waits for slots, according to the events of the log. Reading an
// event again changes nothing. Pure; owned by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "coordinator/state/cluster.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

struct SlotWait {
  uint64_t sequence = 0;  // of the event that it began with
  Timestamp since{};

  bool operator==(const SlotWait&) const = default;
};

// Whether the event begins a wait or ends one, so that a notification of an earlier wait of the
// run need not be remembered any more.
bool ChangesWait(const Event& event);

class WaitingRuns {
 public:
  void Observe(const StoredEvent& stored);
  // The wait of the run that begins with this event was reported.
  void SetReported(const RunId& run, uint64_t sequence) { reported_[run] = sequence; }

  // The waits that are longer than `limit` and not reported. `cluster` confirms that the run still
  // waits. Uses the wall clock, because a wait may outlive this process: while that clock is wrong,
  // a notification may come early or late.
  std::vector<std::pair<RunId, SlotWait>> Due(const Cluster& cluster, Timestamp now,
                                              std::chrono::nanoseconds limit) const;

 private:
  std::map<RunId, SlotWait> waits_;
  std::map<RunId, uint64_t> reported_;
};

}  // namespace gp::coordinator

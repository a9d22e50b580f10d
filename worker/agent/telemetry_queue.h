// TelemetryQueue: points and lines on their way to the coordinator, kept until they are
// acknowledged as durable. They wait in two lanes with separate budgets, so that a burst of lines
// displaces no point; a full lane drops its oldest items, and a line in the run's log says how
// many. An item gets its number, counted from 1, when it is first sent. Not thread-safe; its owner
// locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

class TelemetryQueue {
 public:
  struct Dropped {
    uint64_t points = 0;
    uint64_t lines = 0;
  };

  // `items_max`: unsent items of each lane. Sent items that wait for their acknowledgement do not
  // count; the coordinator's window limits them (CoordinatorClient).
  explicit TelemetryQueue(size_t items_max) : items_max_(items_max) {}

  void Add(v1::TelemetryItem item);

  bool has_unsent() const {
    return resent_ < sent_.size() || waiting() > 0 || HasLastGap(points_) || HasLastGap(lines_);
  }
  // The next unsent items in the order in which they were added, at most `count_max` and about
  // `bytes_max` (one item at least); they count as sent.
  v1::Telemetry Take(size_t count_max, size_t bytes_max);
  // Call on a new connection: everything that was not acknowledged counts as unsent again.
  void Rewind();
  void Acknowledge(uint64_t through_sequence);

  size_t size() const { return sent_.size() + waiting(); }
  // Sent on this connection and not acknowledged.
  size_t sent_bytes() const { return sent_bytes_; }
  Dropped dropped() const { return {points_.dropped, lines_.dropped}; }

 private:
  struct Waiting {
    uint64_t order = 0;  // order of arrival over both lanes
    v1::TelemetryItem item;
  };
  // Items of a run that were dropped and are not mentioned in its log yet.
  struct Gap {
    uint64_t count = 0;
    v1::TelemetryItem newest;
  };
  struct Lane {
    const char* what;
    std::deque<Waiting> items = {};
    uint64_t dropped = 0;
    std::map<std::string, Gap> untold = {};  // by run
  };

  static v1::TelemetryItem LineAbout(const Gap& gap, const Lane& lane);
  // True if dropped items must still be reported and the lane is empty; then a separate line
  // reports them.
  static bool HasLastGap(const Lane& lane) { return lane.items.empty() && !lane.untold.empty(); }

  size_t waiting() const { return points_.items.size() + lines_.items.size(); }
  Lane& NextLane();
  // Numbers the next waiting item, or the line that reports the gap before it.
  void SendNext();

  const size_t items_max_;
  Lane points_{"points"};
  Lane lines_{"lines"};
  uint64_t added_ = 0;
  std::deque<v1::TelemetryItem> sent_;  // numbered
  uint64_t first_ = 1;                  // number of sent_.front()
  size_t resent_ = 0;                   // how many of sent_ were sent on this connection
  size_t sent_bytes_ = 0;               // bytes of these
};

}  // namespace gp::agent

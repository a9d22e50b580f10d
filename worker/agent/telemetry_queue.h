// TelemetryQueue: points and lines on their way to the coordinator, numbered from 1 and kept until
// they are acknowledged as durable. Bounded: when it is full the oldest go, and the numbers show
// the gap. Not thread-safe; its owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

class TelemetryQueue {
 public:
  explicit TelemetryQueue(size_t items_max) : items_max_(items_max) {}

  void Add(v1::TelemetryItem item);

  bool has_unsent() const { return next_unsent_ < end(); }
  // The next unsent items in order, at most `count_max` and about `bytes_max` (one item at least);
  // they count as sent.
  v1::Telemetry Take(size_t count_max, size_t bytes_max);
  // A new connection: everything that was not acknowledged is unsent again.
  void Rewind() { next_unsent_ = first_; }
  void Acknowledge(uint64_t through_sequence);

  size_t size() const { return items_.size(); }
  uint64_t dropped() const { return dropped_; }

 private:
  uint64_t end() const { return first_ + items_.size(); }
  void DropFirst();

  const size_t items_max_;
  std::deque<v1::TelemetryItem> items_;
  uint64_t first_ = 1;  // sequence of items_.front()
  uint64_t next_unsent_ = 1;
  uint64_t dropped_ = 0;
};

}  // namespace gp::agent

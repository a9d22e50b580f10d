// NewestEvents: the last events of a run, for small displays. Checkpoints are routine and would
// fill it: retired ones are left out, and consecutive seals are one entry. 'gpctl events' shows
// everything. Not thread-safe.
#pragma once

#include <deque>

#include "gp/v1/run.pb.h"

namespace gp::gpctl {

class NewestEvents {
 public:
  explicit NewestEvents(size_t events_max = 5) : events_max_(events_max) {}

  // Events arrive oldest first.
  void Add(const v1::RunEvent& event);

  const std::deque<v1::RunEvent>& events() const { return events_; }  // oldest first

 private:
  size_t events_max_;
  std::deque<v1::RunEvent> events_;
  int seals_ = 0;  // seals that the newest entry covers
};

}  // namespace gp::gpctl

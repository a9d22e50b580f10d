// NewestEvents: the newest few events of a run, for places that have room for a few. Checkpoints
// are routine and would fill it: those that were retired are left out, and seals that follow each
// other are one entry. 'gpctl events' shows everything. Not thread-safe.
#pragma once

#include <deque>

#include "gp/v1/run.pb.h"

namespace gp::gpctl {

class NewestEvents {
 public:
  // Events arrive oldest first.
  void Add(const v1::RunEvent& event);

  const std::deque<v1::RunEvent>& events() const { return events_; }  // oldest first

 private:
  std::deque<v1::RunEvent> events_;
  int seals_ = 0;  // that the newest entry stands for
};

}  // namespace gp::gpctl

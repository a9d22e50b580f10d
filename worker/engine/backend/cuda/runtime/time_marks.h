// TimeMarks: points of time in a stream, by slot. Belongs to the owner of the stream. One thread
// calls.
#pragma once

#include <deque>

#include "worker/engine/backend/cuda/runtime/runtime.h"

namespace gp::engine {

class TimeMarks {
 public:
  void Mark(int slot, const CudaStream& stream) {
    while (marks_.size() <= static_cast<size_t>(slot)) marks_.emplace_back(CudaEvent::Timing::kOn);
    marks_[static_cast<size_t>(slot)].Record(stream);
  }
  // Waits for the later one.
  double Between(int first, int second) const {
    return MillisecondsBetween(marks_.at(static_cast<size_t>(first)),
                               marks_.at(static_cast<size_t>(second)));
  }

 private:
  std::deque<CudaEvent> marks_;  // events do not move
};

}  // namespace gp::engine

#include "worker/engine/step/step_timer.h"

#include <utility>

namespace gp::engine {

void StepTimer::Begin() {
  if (backend_.host_reachable()) {
    on_clock_.emplace(clock_);
  } else {
    last_ = Mark();
  }
}

void StepTimer::Lap(double contract::StepPhases::*phase) {
  if (on_clock_) return on_clock_->Lap(phase);
  const int mark = Mark();
  intervals_.push_back({last_, mark, phase});
  last_ = mark;
}

void StepTimer::Close() {
  if (on_clock_) return;
  closed_ = std::exchange(intervals_, {});
  bank_ = (bank_ + 1) % kBanks;
  marks_ = 0;
}

void StepTimer::ReadMarks() {
  if (on_clock_) return;
  phases_ = {};
  seconds_ = 0;
  for (const Interval& interval : closed_) {
    const double seconds = backend_.MillisecondsBetween(interval.first, interval.last) / 1000;
    phases_.*interval.phase += seconds;
    seconds_ += seconds;
  }
}

int StepTimer::Mark() {
  const int slot = kBanks * marks_++ + bank_;
  backend_.Mark(slot);
  return slot;
}

}  // namespace gp::engine

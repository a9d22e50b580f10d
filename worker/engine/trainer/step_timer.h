// StepTimer: where the time of steps goes, in disjoint phases whose sum is the step. On a CPU the
// clock says it (PhaseTimer). A device works later than it is asked: there time marks in its queue
// say it, and are read when the host waits for it anyway. That is while the update runs, which is
// therefore counted with the step that follows; what happens between two steps is counted with
// none. Owned by the trainer; one thread.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "link/messages.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/trainer/phase_timer.h"

namespace gp::engine {

class StepTimer {
 public:
  // Both outlive me.
  StepTimer(const Clock& clock, Backend& backend) : clock_(clock), backend_(backend) {}

  // A step begins.
  void Begin();

  // What was done, or queued, since Begin or the last Lap belongs to `phase`.
  void Lap(double link::Phases::*phase);

  // Of a device, what is queued from now on counts with the next step.
  void Close();

  // The device was waited for up to Close: those marks can be read.
  void Settle();

  // Of the step that Begin began last; of a device, since Settle.
  link::Phases phases() const { return on_clock_ ? on_clock_->phases() : phases_; }
  // What the phases add up to.
  double seconds() const { return on_clock_ ? on_clock_->seconds() : seconds_; }

 private:
  struct Interval {
    int first = 0;  // marks
    int last = 0;
    double link::Phases::*phase = nullptr;
  };

  // Marks between two Closes are a bank. An interval may begin in the one before, and is read when
  // the one behind has begun.
  static constexpr int kBanks = 3;
  int Mark();

  const Clock& clock_;
  Backend& backend_;
  std::optional<PhaseTimer> on_clock_;
  std::vector<Interval> closed_;     // of the step that is settled next
  std::vector<Interval> intervals_;  // since Close
  int bank_ = 0;
  int marks_ = 0;  // in the bank
  int last_ = 0;   // mark
  link::Phases phases_;
  double seconds_ = 0;
};

}  // namespace gp::engine

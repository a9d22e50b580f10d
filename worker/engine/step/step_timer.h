// StepTimer: measures where the time of a step goes, in disjoint phases whose sum is the step. On a
// CPU the phases are read from the clock (PhaseTimer). A device runs its work later than the host
// queues it, so there the phases come from time marks in the device's queue. The host reads the
// marks when it waits for the device anyway. The update overlaps that wait, so its time is charged
// to the next step. Time between steps is charged to no step. Owned by TrainingStep; one thread.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "contract/training_point.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/step/phase_timer.h"

namespace gp::engine {

class StepTimer {
 public:
  // Both must outlive this object.
  StepTimer(const Clock& clock, Backend& backend) : clock_(clock), backend_(backend) {}

  // A step begins.
  void Begin();

  // Work done or queued since Begin or the last Lap belongs to `phase`.
  void Lap(double contract::StepPhases::*phase);

  // Ends the step. On a device, work that is queued from now on counts with the next step.
  void Close();

  // Reads the marks of the closed step. Call this when the host has waited for the device up to
  // Close.
  void ReadMarks();

  // Times of the step that Begin began last; on a device, of the step that ReadMarks read last.
  contract::StepPhases phases() const { return on_clock_ ? on_clock_->phases() : phases_; }
  // The sum of the phases.
  double seconds() const { return on_clock_ ? on_clock_->seconds() : seconds_; }

 private:
  struct Interval {
    int first = 0;  // marks
    int last = 0;
    double contract::StepPhases::*phase = nullptr;
  };

  // The marks between two calls of Close form a bank. An interval may begin in the previous bank,
  // and is read after the next bank has begun: three banks are in use.
  static constexpr int kBanks = 3;
  int Mark();

  const Clock& clock_;
  Backend& backend_;
  std::optional<PhaseTimer> on_clock_;
  std::vector<Interval> closed_;     // intervals of the step that ReadMarks reads next
  std::vector<Interval> intervals_;  // since Close
  int bank_ = 0;
  int marks_ = 0;  // in the bank
  int last_ = 0;   // mark
  contract::StepPhases phases_;
  double seconds_ = 0;
};

}  // namespace gp::engine

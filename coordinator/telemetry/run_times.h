// RunTimes: how one run has spent its time since it was submitted. Derived from the run's durable
// events and the steps that its epochs committed, so a restarted coordinator computes the same. A
// value; one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "coordinator/state/event.h"
#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {

enum class RunTime {
  kQueued,      // it waits for slots, before its first placement or after RunRequeued
  kStarting,    // its ranks start, load and connect
  kProductive,  // its ranks take new steps, evaluate and save
  kRedone,      // its ranks repeat steps that a failure lost
  kWaiting,     // from a failure to the next placement, or its ranks leave
  kPaused,      // a user paused it, or it had ended before another leg began
};
inline constexpr std::array kRunTimes = {RunTime::kQueued, RunTime::kStarting, RunTime::kProductive,
                                         RunTime::kRedone, RunTime::kWaiting,  RunTime::kPaused};

// "queued": the label of metrics.
std::string_view Name(RunTime state);

class RunTimes {
 public:
  // Handles the run's durable events, in order.
  void Observe(const Event& event);
  void SetEpochs(std::vector<EpochStart> epochs) { epochs_ = std::move(epochs); }

  // Seconds by state, up to `now`, or up to the run's end. Their sum is the time since the submit.
  std::array<double, kRunTimes.size()> At(Timestamp now) const;

 private:
  struct Span {
    Timestamp from{};
    RunTime state = RunTime::kQueued;  // kProductive includes kRedone; At separates them
    Epoch epoch = 0;
  };

  void Enter(RunTime state, const Event& event);
  // When the epoch of `span` had repeated all lost steps, clamped to the span, which ends at `end`.
  Timestamp CaughtUp(const Span& span, Timestamp end) const;

  std::vector<Span> spans_;  // by time
  std::vector<EpochStart> epochs_;
  std::map<Epoch, int64_t> resumed_from_;  // by epoch, the step that it resumed from; 0: none
  bool ended_ = false;
};

}  // namespace gp::coordinator

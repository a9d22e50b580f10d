// ProgressWatch: judges from a trainer's Beats whether it hangs. A trainer that waits
// for something else does not hang: its peer, storage, data, a seal or the agent must act first.
// Nor does one that is slow: the limit follows from the intervals that the phase had so far.
//
// Times are those of a RunningTime, which counts only while the agent itself runs. When agent and
// trainers are stopped together, for example because a laptop sleeps, no trainer hangs after that.
// Values owned by the agent's loop; not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/machine/progress.h"
#include "contract/messages.h"
#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

// How long the loop that calls Advance has run.
class RunningTime {
 public:
  // The loop's next turn begins. Of a turn that took very long only a part counts, because the
  // agent was stopped, or held up.
  void Advance(MonotonicTime now);

  std::chrono::nanoseconds passed() const { return passed_; }

 private:
  std::optional<MonotonicTime> turned_at_;
  std::chrono::nanoseconds passed_{0};
};

class ProgressWatch {
 public:
  // The limit of a phase is kIntervals times its longest interval so far, but at least kLimitMin;
  // kFirstLimit until the phase was completed once. The limit of silence follows from the longest
  // silence so far in the same way; it is at least kFirstSilenceMin until some phase was completed,
  // because a process that starts may wait for pages of its libraries.
  static constexpr std::chrono::seconds kLimitMin{2};
  static constexpr std::chrono::seconds kFirstLimit{60};
  static constexpr std::chrono::seconds kFirstSilenceMin{10};
  static constexpr int kIntervals = 6;

  void Observe(const link::Beat& progress, std::chrono::nanoseconds running);

  // Why the trainer counts as hung, in words that follow its name; nullopt if it does not. A
  // process that sends no more messages is stopped, whatever it waited for.
  std::optional<std::string> Hang(std::chrono::nanoseconds running) const;

  // Whether it has waited for a peer for longer than the limit. The coordinator compares all ranks
  // of the group then.
  bool AwaitsPeerTooLong(std::chrono::nanoseconds running) const;

  // Nullopt until the first message.
  std::optional<v1::RankProgress> Report(std::chrono::nanoseconds running) const;

 private:
  std::chrono::nanoseconds LimitOfPhase() const;
  std::chrono::nanoseconds LimitOfSilence() const;

  std::optional<link::Beat> newest_;
  std::chrono::nanoseconds moved_at_{0};         // when its count changed
  std::chrono::nanoseconds heard_at_{0};         // when the newest message came
  std::chrono::nanoseconds longest_silence_{0};  // between two messages
  bool completed_a_phase_ = false;
};

}  // namespace gp::agent

// SupervisorLink: the engine's end of the link. A thread of its own reads, so that a supervisor
// that is gone, or that says stop, is noticed while the main thread computes. The end of the link
// ends the process at once. Stop makes this process leave: with time to save, the main thread ends
// its step and saves it, and when half of the time is over the step is broken off; without, or when
// the time is over, or at the second Stop, the step is broken off and the process ends soon, with
// or without its main thread. To break a step off is to request the stop token and to abort the
// group. Fence answers Fenced and exits. Everything else waits for the main thread, in order.
// Methods may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "base/mailbox.h"
#include "base/mutex.h"
#include "base/status.h"
#include "link/channel.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

enum class Leaving { kNo, kSaving, kAtOnce };
// Who asks a process to stop.
enum class StopAsker { kSupervisor, kSignal };

class SupervisorLink {
 public:
  // Reads from `channel`, which outlives me, until destruction.
  explicit SupervisorLink(link::Channel& channel);
  ~SupervisorLink();

  // The next Start, Configure, Go or SealResult; nullopt after Stop. Waits as long as the
  // supervisor lives.
  std::optional<link::Message> Next();

  // The coordinator's word on the checkpoint of `step`; nullopt when this process leaves at once.
  // Waits as long as the supervisor lives.
  std::optional<link::SealResult> WaitForSeal(int64_t step) EXCLUDES(mutex_);

  // What can no longer be sent is lost: the reading thread ends the process when the supervisor is
  // gone.
  void Send(const link::Message& message);

  // Requested when the step is to be broken off.
  std::stop_token stop_token() const { return stop_.get_token(); }

  // From here on there may be steps to save; before, this process always leaves at once.
  void BeginSteps() { takes_steps_ = true; }

  // Each asker is heard as Stop is: the first time with `save_within` to save, the second time at
  // once. Both asking once is no haste: who stops a whole service signals the supervisor and its
  // engine processes. The shorter time counts then.
  void RequestStop(StopAsker asker, const std::string& reason,
                   std::optional<std::chrono::milliseconds> save_within = {}) EXCLUDES(mutex_);

  Leaving leaving() const { return leaving_; }
  // Who asked; empty when nobody did.
  std::string stop_reason() const EXCLUDES(mutex_);
  // Whether this process leaves in that way, or will within `patience`.
  bool LeavesWithin(std::chrono::nanoseconds patience, Leaving way) EXCLUDES(mutex_);

  // Breaking off aborts `communicator` until it is released again.
  void AttachGroup(Communicator& communicator) EXCLUDES(mutex_);
  void ReleaseGroup() EXCLUDES(mutex_);

  // For the answer to Fence.
  void SetCommittedStep(int64_t step) { committed_step_ = step; }

 private:
  void Read();
  void Handle(link::Message message);
  void NoteSeal(const link::SealResult& result) EXCLUDES(mutex_);
  [[noreturn]] void ExitFenced(uint64_t epoch);
  void BreakOff() REQUIRES(mutex_);
  void LeaveAtOnce() REQUIRES(mutex_);
  void WatchTime() EXCLUDES(mutex_);

  link::Channel& channel_;
  Mailbox<link::Message> inbox_;
  std::stop_source stop_;
  std::atomic<int64_t> committed_step_ = 0;
  std::atomic<bool> takes_steps_ = false;
  std::atomic<bool> closing_ = false;
  std::atomic<Leaving> leaving_ = Leaving::kNo;  // written under the mutex
  mutable Mutex mutex_;
  std::chrono::steady_clock::time_point break_off_at_ GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point leave_at_ GUARDED_BY(mutex_);  // without the main thread
  CondVar changed_;                                                    // a seal or a stop
  std::optional<link::SealResult> last_seal_ GUARDED_BY(mutex_);
  Communicator* group_ GUARDED_BY(mutex_) = nullptr;
  std::string stop_reason_ GUARDED_BY(mutex_);
  std::set<StopAsker> askers_ GUARDED_BY(mutex_);
  std::jthread reader_;
};

}  // namespace gp::engine

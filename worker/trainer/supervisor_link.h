// SupervisorLink: the engine's end of the link. Its own thread reads, so that it notices the end of
// the supervisor, or a Stop, while the main thread computes. The end of the link ends the process
// at once. Stop makes this process exit. With time to save, the main thread finishes its step and
// saves it; after half of the time the step is interrupted. Without time to save, when the time is
// over, or at the second Stop, the step is interrupted and the process ends soon, even if its main
// thread hangs. To interrupt a step, the link requests the stop token and aborts the group.
// The newest SealResult is kept for WaitForSeal; all other messages wait for Next, in order.
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
#include "contract/channel.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

enum class Leaving { kNo, kSaving, kAtOnce };
// The sources of a request to stop.
enum class StopAsker { kSupervisor, kSignal };

class SupervisorLink {
 public:
  // Reads from `channel`, which must outlive this object, until destruction.
  explicit SupervisorLink(link::Channel& channel);
  ~SupervisorLink();

  // The next Hello, Start, Configure or Go; nullopt after Stop. Waits as long as the supervisor
  // lives.
  std::optional<link::Message> Next();

  // The coordinator's answer for the checkpoint of `step`; nullopt when this process exits at once.
  // Waits as long as the supervisor lives.
  std::optional<link::SealResult> WaitForSeal(int64_t step) EXCLUDES(mutex_);

  // A message that cannot be sent is lost: when the supervisor is gone, the reading thread ends the
  // process.
  void Send(const link::Message& message);

  // Requested when the step must be interrupted.
  std::stop_token stop_token() const { return stop_.get_token(); }

  // From now on the supervisor is told regularly what the training does (base/machine/progress.h).
  void BeginBeats() { beats_ = true; }

  // From now on there may be steps to save. Before this call, Stop always means: exit at once.
  void BeginSteps() { takes_steps_ = true; }

  // A request works like Stop: the first request of each asker leaves `save_within` to save
  // (absent: exit at once), and the supervisor's second means at once. A second signal changes
  // nothing, because Slurm and people signal again. A signal and a Stop together do not mean at
  // once either, because stopping a service signals the supervisor and its engine processes. The
  // shorter time counts then.
  void RequestStop(StopAsker asker, const std::string& reason,
                   std::optional<std::chrono::milliseconds> save_within = {}) EXCLUDES(mutex_);

  Leaving leaving() const { return leaving_; }
  // The reason of the first request; empty when there was none.
  std::string stop_reason() const EXCLUDES(mutex_);
  // Waits up to `timeout` until leaving() is at least `way` (kAtOnce includes kSaving). False if it
  // is not.
  bool LeavesWithin(std::chrono::nanoseconds timeout, Leaving way) EXCLUDES(mutex_);

  // Interrupting a step aborts `communicator`, until it is released. So does a Configure of a later
  // epoch than `epoch`.
  void AttachGroup(Communicator& communicator, uint64_t epoch) EXCLUDES(mutex_);
  void ReleaseGroup() EXCLUDES(mutex_);

  // Requested when the group of `epoch` must not be waited for any more: the step must be
  // interrupted, or there is a Configure of a later epoch. Replaces the token of the last call.
  std::stop_token BeginForming(uint64_t epoch) EXCLUDES(mutex_);

  // Sets the step that Stopped names if this process exits without its main thread.
  void SetCommittedStep(int64_t step) { committed_step_ = step; }

 private:
  void Read();
  void Handle(link::Message message);
  void NoteConfigure(uint64_t epoch) EXCLUDES(mutex_);
  void NoteSeal(const link::SealResult& result) EXCLUDES(mutex_);
  void BreakOff() REQUIRES(mutex_);
  void LeaveAtOnce() REQUIRES(mutex_);
  void WatchTime() EXCLUDES(mutex_);
  void Beat();

  link::Channel& channel_;
  Mailbox<link::Message> inbox_;
  std::stop_source stop_;
  std::atomic<int64_t> committed_step_ = 0;
  std::atomic<bool> takes_steps_ = false;
  std::atomic<bool> beats_ = false;
  std::chrono::steady_clock::time_point beat_at_;  // this: of the reading thread
  std::atomic<bool> closing_ = false;
  std::atomic<Leaving> leaving_ = Leaving::kNo;  // written under the mutex
  mutable Mutex mutex_;
  std::chrono::steady_clock::time_point break_off_at_ GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point leave_at_ GUARDED_BY(mutex_);  // without the main thread
  CondVar changed_;                                                    // a seal or a stop
  std::optional<link::SealResult> last_seal_ GUARDED_BY(mutex_);
  Communicator* group_ GUARDED_BY(mutex_) = nullptr;
  uint64_t newest_epoch_ GUARDED_BY(mutex_) = 0;  // of all Configures so far
  std::stop_source forming_ GUARDED_BY(mutex_);
  std::string stop_reason_ GUARDED_BY(mutex_);
  std::set<StopAsker> askers_ GUARDED_BY(mutex_);
  std::jthread reader_;
};

}  // namespace gp::engine

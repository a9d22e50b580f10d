// SupervisorLink: the engine's end of the link. A thread of its own reads, so that a supervisor
// that is gone, or that says stop, is noticed while the main thread computes: the end of the link
// ends the process at once; Stop requests the stop token and aborts the group, and ends the process
// when the main thread does not follow in time; Fence answers Fenced and exits. Everything else
// waits for the main thread, in order. Methods may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/mailbox.h"
#include "base/mutex.h"
#include "base/status.h"
#include "link/channel.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

class SupervisorLink {
 public:
  // Reads from `channel`, which outlives me, until destruction.
  explicit SupervisorLink(link::Channel& channel);
  ~SupervisorLink();

  // The next Start, Configure, Go or SealResult; nullopt after Stop. Waits as long as the
  // supervisor lives.
  std::optional<link::Message> Next();

  // The coordinator's word on the checkpoint of `step`; nullopt after Stop. Waits as long as the
  // supervisor lives.
  std::optional<link::SealResult> WaitForSeal(int64_t step) EXCLUDES(mutex_);

  // What can no longer be sent is lost: the reading thread ends the process when the supervisor is
  // gone.
  void Send(const link::Message& message);

  // Requested by Stop.
  std::stop_token stop_token() const { return stop_.get_token(); }
  void RequestStop(const std::string& reason) EXCLUDES(mutex_);

  // Whether Stop has come, or comes within `patience`.
  bool StopsWithin(std::chrono::nanoseconds patience) EXCLUDES(mutex_);

  // Stop aborts `communicator` until it is released again.
  void AttachGroup(Communicator& communicator) EXCLUDES(mutex_);
  void ReleaseGroup() EXCLUDES(mutex_);

  // For the answer to Fence.
  void SetCommittedStep(int64_t step) { committed_step_ = step; }

 private:
  void Read();
  void Handle(link::Message message);
  void NoteSeal(const link::SealResult& result) EXCLUDES(mutex_);
  [[noreturn]] void ExitFenced(uint64_t epoch);
  bool StopOverdue() const;

  link::Channel& channel_;
  Mailbox<link::Message> inbox_;
  std::stop_source stop_;
  std::atomic<int64_t> committed_step_ = 0;
  std::atomic<bool> closing_ = false;
  std::optional<std::chrono::steady_clock::time_point> stop_deadline_;  // of the reading thread
  Mutex mutex_;
  CondVar changed_;  // a seal or a stop
  std::optional<link::SealResult> last_seal_ GUARDED_BY(mutex_);
  Communicator* group_ GUARDED_BY(mutex_) = nullptr;
  std::string stop_reason_ GUARDED_BY(mutex_);
  std::jthread reader_;
};

}  // namespace gp::engine

// Progress: what the training of this process does now, for a watcher that detects when it hangs:
// its phase, a count that grows with the work, and what it waits for. Code on every level of the
// engine reports it, so it belongs to the process, like the log. Only threads with a Training
// object in scope report; on other threads the functions below do nothing. A report costs a few
// relaxed atomic operations.
//
// Intervals between two reports are measured on a clock that a watching thread advances
// (AdvanceClock). While that thread does not run, because the process is stopped or the machine is
// suspended, the clock stands still, so such times are in no interval.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace gp::progress {

// The numbers are sent over the link (docs/formats/link.md).
enum class Phase : int {
  kStart = 0,  // everything before the first step, and whatever has no phase of its own
  kTuning = 1,
  kForward = 2,
  kBackward = 3,
  kAllReduce = 4,
  kOptimizer = 5,
  kEvaluation = 6,
  kSample = 7,
  kSave = 8,
  kBetweenSteps = 9,
};
inline constexpr int kPhases = 10;

// What keeps the training from continuing, without being its own fault.
enum class Wait : int {
  kNothing = 0,
  kPeer = 1,
  kStorage = 2,
  kData = 3,
  kSeal = 4,
  kSupervisor = 5,  // its next message
};
inline constexpr int kWaits = 6;

struct Snapshot {
  Phase phase = Phase::kStart;
  uint64_t count = 0;  // differs from the last one if anything happened between them
  Wait wait = Wait::kNothing;
  int peer = -1;  // the rank that it waits for; -1: unknown, or it does not wait for one
  // The longest interval without a report in this phase; -1 until the phase was left once.
  int64_t longest_ms = -1;
};

namespace internal {

// The reports of one thread. Written by that thread alone.
struct Reports {
  std::atomic<int> phase{0};
  std::atomic<uint64_t> count{0};
  std::atomic<int> wait{0};
  std::atomic<int> peer{-1};
  std::atomic<bool> delegates{false};  // it waits for the helper's lane
  std::atomic<int64_t> moved_ms{0};
  std::array<std::atomic<int64_t>, kPhases> longest_ms{};
  std::array<std::atomic<bool>, kPhases> left{};
};

inline Reports trainer;
inline Reports helper;
inline std::atomic<int64_t> clock_ms{0};
inline thread_local Reports* lane = nullptr;

inline void Count(Reports& own) {
  own.count.store(own.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Ends an interval of the current phase.
inline void Move(Reports& own) {
  const int64_t now = clock_ms.load(std::memory_order_relaxed);
  auto& longest = own.longest_ms[static_cast<size_t>(own.phase.load(std::memory_order_relaxed))];
  const int64_t interval = now - own.moved_ms.load(std::memory_order_relaxed);
  if (interval > longest.load(std::memory_order_relaxed)) {
    longest.store(interval, std::memory_order_relaxed);
  }
  own.moved_ms.store(now, std::memory_order_relaxed);
  Count(own);
}

// Ends a wait, which is no interval of a phase.
inline void Resume(Reports& own) {
  own.moved_ms.store(clock_ms.load(std::memory_order_relaxed), std::memory_order_relaxed);
  Count(own);
}

}  // namespace internal

// Makes the current thread report: the one that trains, or, as `helper`, the one that sums
// gradients for it.
class Training {
 public:
  explicit Training(bool helper = false) : before_(internal::lane) {
    internal::lane = helper ? &internal::helper : &internal::trainer;
    internal::Resume(*internal::lane);
  }
  ~Training() { internal::lane = before_; }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

 private:
  internal::Reports* const before_;
};

// A piece of work of the current phase is done.
inline void Tick() {
  if (internal::lane != nullptr) internal::Move(*internal::lane);
}

// The current thread is in this phase, until destruction or another InPhase.
class InPhase {
 public:
  explicit InPhase(Phase phase) : lane_(internal::lane) {
    if (lane_ == nullptr) return;
    before_ = lane_->phase.load(std::memory_order_relaxed);
    Switch(static_cast<int>(phase));
  }
  ~InPhase() {
    if (lane_ == nullptr) return;
    Leave();
    lane_->phase.store(before_, std::memory_order_relaxed);
  }
  InPhase(const InPhase&) = delete;
  InPhase& operator=(const InPhase&) = delete;

  // Continues with another phase, or with more work of the same one.
  void Next(Phase phase) {
    if (lane_ == nullptr) return;
    if (lane_->phase.load(std::memory_order_relaxed) == static_cast<int>(phase)) {
      return internal::Move(*lane_);
    }
    Leave();
    lane_->phase.store(static_cast<int>(phase), std::memory_order_relaxed);
  }

 private:
  void Switch(int phase) {
    internal::Move(*lane_);
    lane_->phase.store(phase, std::memory_order_relaxed);
  }
  void Leave() {
    internal::Move(*lane_);
    lane_->left[static_cast<size_t>(lane_->phase.load(std::memory_order_relaxed))].store(
        true, std::memory_order_relaxed);
  }

  internal::Reports* const lane_;
  int before_ = 0;
};

// The current thread waits, until destruction; `peer` is the rank that it waits for, if that is
// known.
class Awaiting {
 public:
  explicit Awaiting(Wait wait, int peer = -1) : lane_(internal::lane) {
    if (lane_ == nullptr) return;
    wait_before_ = lane_->wait.load(std::memory_order_relaxed);
    peer_before_ = lane_->peer.load(std::memory_order_relaxed);
    if (wait_before_ == 0) internal::Move(*lane_);
    Set(static_cast<int>(wait), peer);
  }
  ~Awaiting() {
    if (lane_ == nullptr) return;
    Set(wait_before_, peer_before_);
    internal::Resume(*lane_);
  }
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;

 private:
  void Set(int wait, int peer) {
    lane_->wait.store(wait, std::memory_order_relaxed);
    lane_->peer.store(peer, std::memory_order_relaxed);
  }

  internal::Reports* const lane_;
  int wait_before_ = 0;
  int peer_before_ = -1;
};

// The current thread waits for the helper, until destruction: it does what the helper does.
class AwaitingHelper {
 public:
  AwaitingHelper() : lane_(internal::lane) {
    if (lane_ == nullptr) return;
    internal::Move(*lane_);
    lane_->delegates.store(true, std::memory_order_relaxed);
  }
  ~AwaitingHelper() {
    if (lane_ == nullptr) return;
    lane_->delegates.store(false, std::memory_order_relaxed);
    internal::Resume(*lane_);
  }
  AwaitingHelper(const AwaitingHelper&) = delete;
  AwaitingHelper& operator=(const AwaitingHelper&) = delete;

 private:
  internal::Reports* const lane_;
};

// Advances the clock of all intervals. The caller says how long it has been running since its last
// call.
inline void AdvanceClock(std::chrono::milliseconds running) {
  internal::clock_ms.fetch_add(running.count(), std::memory_order_relaxed);
}

inline Snapshot Now() {
  const internal::Reports& own = internal::trainer;
  Snapshot now;
  const int phase = own.phase.load(std::memory_order_relaxed);
  now.phase = static_cast<Phase>(phase);
  now.count = own.count.load(std::memory_order_relaxed);
  const bool delegates = own.delegates.load(std::memory_order_relaxed);
  const internal::Reports& active = delegates ? internal::helper : own;
  if (delegates) now.count += active.count.load(std::memory_order_relaxed);
  now.wait = static_cast<Wait>(active.wait.load(std::memory_order_relaxed));
  now.peer = active.peer.load(std::memory_order_relaxed);
  const auto place = static_cast<size_t>(phase);
  if (own.left[place].load(std::memory_order_relaxed)) {
    now.longest_ms = own.longest_ms[place].load(std::memory_order_relaxed);
  }
  return now;
}

}  // namespace gp::progress

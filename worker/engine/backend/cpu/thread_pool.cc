#include "worker/engine/backend/cpu/thread_pool.h"

#include <immintrin.h>

#include <chrono>
#include <utility>

namespace gp::engine {
namespace {

// About 50 microseconds: longer than the serial gaps of a step, shorter than a scheduler's time
// slice.
constexpr int kSpins = 1000;
constexpr std::chrono::milliseconds kSleepMax(200);

constexpr int kEndShift = 32;
constexpr uint64_t kNextMask = (uint64_t{1} << kEndShift) - 1;

constexpr uint64_t WordOf(int64_t next, int64_t end) {
  return static_cast<uint64_t>(end) << kEndShift | static_cast<uint64_t>(next);
}
constexpr uint64_t kTaken = uint64_t{1} << 63;
constexpr bool IsEmpty(uint64_t word) {
  return (word & kNextMask) >= (word & ~kTaken) >> kEndShift;
}

}  // namespace

std::optional<int64_t> ThreadPool::Claims::Next() {
  if (!first_) return Claim();
  return std::exchange(first_, std::nullopt);
}

// A thread that comes late from an earlier region may begin here too: it then works on this region,
// which cannot end before its pieces are done.
bool ThreadPool::Claims::Begin() {
  std::atomic<uint64_t>& word = pool_.ranges_[static_cast<size_t>(thread_)].word;
  uint64_t before = word.load(std::memory_order_relaxed);
  while (thread_ == 0 || !(before & kTaken)) {
    if (IsEmpty(before)) break;
    if (!word.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel)) continue;
    first_ = static_cast<int64_t>(before & kNextMask);
    claimed_ = 1;
    return true;
  }
  return false;
}

std::optional<int64_t> ThreadPool::Claims::Claim() {
  for (; passed_ < pool_.threads_; ++passed_) {
    std::atomic<uint64_t>& word = pool_.ranges_[static_cast<size_t>(range_)].word;
    const uint64_t seen = word.load(std::memory_order_relaxed);
    if (!IsEmpty(seen)) {
      if (passed_ > 0 && !(seen & kTaken)) word.fetch_or(kTaken, std::memory_order_relaxed);
      const uint64_t before = word.fetch_add(1, std::memory_order_acq_rel);
      if (!IsEmpty(before)) {
        ++claimed_;
        return static_cast<int64_t>(before & kNextMask);
      }
    }
    range_ = range_ + 1 < pool_.threads_ ? range_ + 1 : 0;
  }
  return std::nullopt;
}

ThreadPool::ThreadPool(int threads)
    : threads_(std::max(threads, 1)), ranges_(static_cast<size_t>(threads_)) {
  workers_.reserve(static_cast<size_t>(threads_ - 1));
  for (int thread = 1; thread < threads_; ++thread) {
    workers_.emplace_back([this, thread] { WorkerLoop(thread); });
  }
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  generation_.fetch_add(1);
  Wake();
}

// The words are stored last: a thread that claims a piece sees the region's task. A single piece is
// done here, because waking another thread takes longer.
void ThreadPool::RunTask(int64_t pieces, Task task, const void* data) {
  task_ = task;
  data_ = data;
  unfinished_.store(static_cast<uint32_t>(pieces), std::memory_order_relaxed);
  for (int thread = 0; thread < threads_; ++thread) {
    ranges_[static_cast<size_t>(thread)].word.store(
        WordOf(pieces * thread / threads_, pieces * (thread + 1) / threads_),
        std::memory_order_release);
  }
  if (threads_ > 1 && pieces > 1) {
    generation_.fetch_add(1);
    Wake();
  }
  Work(0);
  for (uint32_t left = unfinished_.load(); left != 0; left = unfinished_.load()) {
    AwaitChange(unfinished_, left);
  }
}

void ThreadPool::WorkerLoop(int thread) {
  uint32_t seen = 0;
  while (true) {
    AwaitChange(generation_, seen);
    seen = generation_.load();
    if (stopping_) return;
    Work(thread);
  }
}

void ThreadPool::Work(int thread) {
  Claims claims(*this, thread);
  if (!claims.Begin() && thread != 0) return;
  task_(data_, claims);
  if (unfinished_.fetch_sub(claims.claimed_) == claims.claimed_) Wake();
}

void ThreadPool::AwaitChange(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    _mm_pause();
  }
  // Incremented before the last check of the value, so that a thread that changes the value after
  // that check sees a sleeper and wakes it. (std::atomic::wait would call sched_yield first, which
  // gives the core to another process for a whole time slice.)
  sleepers_.fetch_add(1);
  {
    MutexLock lock(mutex_);
    while (value.load() == old) changed_.WaitFor(mutex_, kSleepMax);
  }
  sleepers_.fetch_sub(1);
}

void ThreadPool::Wake() {
  if (sleepers_.load() == 0) return;
  MutexLock lock(mutex_);
  changed_.NotifyAll();
}

}  // namespace gp::engine

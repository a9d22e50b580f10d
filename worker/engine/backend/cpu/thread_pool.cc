#include "worker/engine/backend/cpu/thread_pool.h"

#include <immintrin.h>

#include <chrono>

#include "base/machine/progress.h"

namespace gp::engine {
namespace {

// About 50 microseconds: longer than the serial gaps of a step, shorter than a scheduler's time
// slice.
constexpr int kSpins = 1000;
constexpr std::chrono::milliseconds kSleepMax(200);

}  // namespace

ThreadPool::ThreadPool(int threads)
    : threads_(std::max(threads, 1)), begun_(static_cast<size_t>(threads_)) {
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

void ThreadPool::RunTask(Task task, const void* data) {
  if (threads_ == 1) {
    task(data, 0);
    return progress::Tick();
  }
  task_ = task;
  data_ = data;
  running_.store(static_cast<uint32_t>(threads_ - 1));
  const uint32_t generation = generation_.fetch_add(1) + 1;
  Wake();
  task(data, 0);
  for (int part = 1; part < threads_; ++part) TryPart(part, generation);
  for (uint32_t running = running_.load(); running != 0; running = running_.load()) {
    AwaitChange(running_, running);
  }
  progress::Tick();
}

void ThreadPool::WorkerLoop(int thread) {
  uint32_t seen = 0;
  while (true) {
    AwaitChange(generation_, seen);
    seen = generation_.load();
    if (stopping_) return;
    TryPart(thread, seen);
  }
}

// If another thread has already begun the part, its generation has changed and the exchange fails.
// If the exchange succeeds, the region cannot end before this part, so task_ still belongs to this
// generation.
void ThreadPool::TryPart(int part, uint32_t generation) {
  uint32_t before = generation - 1;
  if (!begun_[static_cast<size_t>(part)].compare_exchange_strong(before, generation)) return;
  task_(data_, part);
  if (running_.fetch_sub(1) == 1) Wake();
}

void ThreadPool::AwaitChange(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load() != old) return;
    _mm_pause();
  }
  // Incremented before the last check of the value, so that a thread that changes the value after
  // that check sees a sleeper and wakes it.
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

// ThreadPool: the threads of one CPU backend. Run calls a function once for each part of the work;
// there are as many parts as threads, and For cuts ranges into parts statically, so a part's range
// never depends on timing. Thread i takes part i. The caller takes over the part of a thread that
// has not begun it: on a busy machine a short region does not wait until the system gives that
// thread a core. Waiting threads spin briefly, because a training step has hundreds of short
// regions, and then sleep, because another process may need the core. One thread (the owner) calls
// Run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/machine/progress.h"
#include "base/mutex.h"

namespace gp::engine {

class ThreadPool {
 public:
  // The caller of Run is thread 0; the constructor starts threads - 1 others.
  explicit ThreadPool(int threads);
  ~ThreadPool();

  int threads() const { return threads_; }

  // Calls body(part) for every part in [0, threads), 0 on the caller's thread; returns when all
  // have returned. Parts run side by side or one after another, so none may wait for another.
  // `body` must not throw.
  template <typename Body>
  void Run(const Body& body) {
    RunTask([](const void* data, int part) { (*static_cast<const Body*>(data))(part); }, &body);
  }

  // Cuts [0, count) into one contiguous range per thread, at multiples of `grain`, and calls
  // body(first, last).
  template <typename Body>
  void For(int64_t count, int64_t grain, const Body& body) {
    const int64_t grains = (count + grain - 1) / grain;
    if (threads_ == 1 || grains <= 1) {
      if (count > 0) body(int64_t{0}, count);
      return progress::Tick();
    }
    Run([&](int part) {
      const int64_t first = grains * part / threads_ * grain;
      const int64_t last = std::min(grains * (part + 1) / threads_ * grain, count);
      if (first < last) body(first, last);
    });
  }

 private:
  using Task = void (*)(const void* data, int part);

  void RunTask(Task task, const void* data);
  void WorkerLoop(int thread);
  // Calls the task for the part unless another thread has begun it.
  void TryPart(int part, uint32_t generation);
  // Waits until `value` differs from `old`.
  void AwaitChange(const std::atomic<uint32_t>& value, uint32_t old);
  void Wake();

  const int threads_;
  Task task_ = nullptr;
  const void* data_ = nullptr;
  std::atomic<uint32_t> generation_{0};       // of the current task; a new value starts the workers
  std::atomic<uint32_t> running_{0};          // unfinished parts, without the caller's own
  std::vector<std::atomic<uint32_t>> begun_;  // by part: the generation in which it was last begun
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::jthread> workers_;
};

}  // namespace gp::engine

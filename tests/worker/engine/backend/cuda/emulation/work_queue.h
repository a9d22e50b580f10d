// Work submitted to a stream that has not run yet, and the marks that order streams. By default
// work runs when it is submitted; with SetDeferred it stays until a wait requires it, as late as a
// device may run it, so that a missing wait shows. Any thread may call, even while another destroys
// the stream: a shared pointer keeps the queue alive.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"

namespace gp::cuda_emulation {

class WorkQueue;

// A place in a queue: what an event remembers of its last record.
struct Mark {
  std::weak_ptr<WorkQueue> queue;  // expired once its stream is destroyed, whose work has then run
  std::atomic<bool> reached = false;
  std::chrono::steady_clock::time_point time;  // once reached
};

class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  void Push(std::function<void()> work);
  std::shared_ptr<Mark> Record();
  // Work pushed from now on runs after `mark` has been reached.
  void WaitFor(std::shared_ptr<Mark> mark);

  // Runs everything, and what it waits for in other queues.
  void Run();
  void RunUntil(const Mark& mark);
  // Runs one piece, after one that another thread runs; false if there is none.
  bool RunOne() { return RunOneBefore(nullptr); }
  bool IsEmpty();

 private:
  struct Item {
    std::function<void()> work;
    std::shared_ptr<Mark> reached;
    std::shared_ptr<Mark> awaited;
  };
  void Add(Item item);
  bool RunOneBefore(const Mark* mark);
  std::optional<Item> Begin(const Mark* mark);
  static void RunItem(const Item& item);
  void End();

  Mutex mutex_;
  std::deque<Item> items_ GUARDED_BY(mutex_);
  bool running_ GUARDED_BY(mutex_) = false;  // a piece is running; the next one waits for it
  CondVar ended_;
};

// Runs the work that `mark` waits for, if its queue still exists.
void RunUntilReached(const Mark& mark);

// For running work: makes events report this much more time. Does not sleep.
void PretendToTake(std::chrono::nanoseconds time);

// Also set by GP_CUDA_EMULATION_DEFERRED=1 in the environment.
void SetDeferred(bool deferred);
bool IsDeferred();

}  // namespace gp::cuda_emulation

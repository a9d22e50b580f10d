// Work submitted to a stream that has not run yet, and the marks that order streams. By default,
// work runs when it is submitted. With SetDeferred it waits until something requires it, as late as
// on any device, so that missing waits are revealed. Thread-safe, even if another thread destroys
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

// A position in a queue; an event stores the one of its last record.
struct Mark {
  // Expired once its stream was destroyed; the stream's work has run then.
  std::weak_ptr<WorkQueue> queue;
  std::atomic<bool> reached = false;
  std::chrono::steady_clock::time_point time;  // when it was reached
};

class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  void Push(std::function<void()> work);
  std::shared_ptr<Mark> Record();
  // Makes work that is pushed later run only after `mark` is reached.
  void WaitFor(std::shared_ptr<Mark> mark);

  // Runs all queued work, and the work of other queues that it waits for.
  void Run();
  void RunUntil(const Mark& mark);
  // Runs one piece of work; if another thread is running one, waits for that first. False if there
  // is none.
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
  // Whether a piece is running; the next one must wait for it.
  bool running_ GUARDED_BY(mutex_) = false;
  CondVar ended_;
};

// Runs the work up to `mark`, if its queue still exists.
void RunUntilReached(const Mark& mark);

// Called by running work: events report this much more time. Does not sleep.
void PretendToTake(std::chrono::nanoseconds time);

// GP_CUDA_EMULATION_DEFERRED=1 in the environment has the same effect.
void SetDeferred(bool deferred);
bool IsDeferred();

}  // namespace gp::cuda_emulation

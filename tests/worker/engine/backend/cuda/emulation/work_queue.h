// What has been submitted to a stream and has not run yet, and the marks that order streams among
// each other. At first work runs when it is submitted; with SetDeferred it stays until somebody
// waits for it, as late as a device may run it, so that a missing wait shows. Any thread may call,
// also when another destroys the stream: who holds a queue keeps it.
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
  std::weak_ptr<WorkQueue> queue;  // gone once its stream is, whose work has then run
  std::atomic<bool> reached = false;
  std::chrono::steady_clock::time_point time;  // once reached
};

class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  void Push(std::function<void()> work);
  std::shared_ptr<Mark> Record();
  // What is pushed from now on runs after `mark` has been reached.
  void WaitFor(std::shared_ptr<Mark> mark);

  // Runs everything, and what it waits for in other queues.
  void Run();
  void RunUntil(const Mark& mark);
  // Runs one piece, after what another thread runs; false when there is none.
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
  bool running_ GUARDED_BY(mutex_) = false;  // a piece, which the next one waits for
  CondVar ended_;
};

// Runs what `mark` waits for, if it is still there.
void RunUntilReached(const Mark& mark);

// For the work that calls: events say from now on that it took so much longer. Nobody waits.
void PretendToTake(std::chrono::nanoseconds time);

// Also set by GP_CUDA_EMULATION_DEFERRED=1 in the environment.
void SetDeferred(bool deferred);
bool IsDeferred();

}  // namespace gp::cuda_emulation

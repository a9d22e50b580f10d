// What has been submitted to a stream and has not run yet, and the marks that order streams among
// each other. At first work runs when it is submitted; with SetDeferred it stays until somebody
// waits for it, as late as a device may run it, so that a missing wait shows. Any thread may call.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>

#include "base/mutex.h"

namespace gp::cuda_emulation {

class WorkQueue;

// A place in a queue: what an event remembers of its last record.
struct Mark {
  WorkQueue* queue = nullptr;  // which outlives the work before the mark
  std::atomic<bool> reached = false;
  std::chrono::steady_clock::time_point time;  // once reached
};

class WorkQueue {
 public:
  void Push(std::function<void()> work);
  std::shared_ptr<Mark> Record();
  // What is pushed from now on runs after `mark` has been reached.
  void WaitFor(std::shared_ptr<Mark> mark);

  // Runs everything, and what it waits for in other queues.
  void Run();
  void RunUntil(const Mark& mark);
  // Runs one piece; false when there is none.
  bool RunOne();
  bool IsEmpty();

 private:
  struct Item {
    std::function<void()> work;
    std::shared_ptr<Mark> reached;
    std::shared_ptr<Mark> awaited;
  };
  void Add(Item item);
  static void RunItem(const Item& item);

  Mutex mutex_;
  std::deque<Item> items_ GUARDED_BY(mutex_);
  Mutex running_;  // held by who runs items, so that they run in order
};

// Also set by GP_CUDA_EMULATION_DEFERRED=1 in the environment.
void SetDeferred(bool deferred);
bool IsDeferred();

}  // namespace gp::cuda_emulation

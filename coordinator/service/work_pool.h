// WorkPool: a few threads for one kind of slow work of a service, so that gRPC's own threads only
// pass messages on. Callers take turns, one piece of work each, so a caller with much work delays
// another by one piece only. Owned by the daemon; every method may be called from any thread.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace gp::coordinator {

// One piece of work. The pool calls Run or Refuse, once, unless the work is withdrawn.
class Work {
 public:
  virtual ~Work() = default;
  // On a thread of the pool.
  virtual void Run() = 0;
  // Called when the pool is full or stops. Must be quick: it runs on the thread that called Post or
  // Stop.
  virtual void Refuse(const Status& why) = 0;
};

struct WorkPoolOptions {
  std::string name;  // names the work in messages
  int threads = 2;
  size_t waiting_max = 256;  // pieces of work that no thread has begun
  // The same limit for each caller. A client that waits for its answers does not reach it.
  size_t waiting_per_caller_max = 64;
};

class WorkPool {
 public:
  explicit WorkPool(WorkPoolOptions options);
  // Waits for the work in progress; see Stop.
  ~WorkPool();

  // Refuses `work` when `caller` already has waiting_per_caller_max pieces waiting, or when the
  // pool has stopped. When the pool is full, refuses the newest work of the caller that has the
  // most, which may be `work`.
  void Post(const std::string& caller, std::shared_ptr<Work> work);
  // Removes work that is no longer needed. True: it was still waiting, and the pool will not call
  // it.
  bool Withdraw(const std::string& caller, const Work& work);

  // Pieces of work that no thread has begun.
  size_t waiting() const;

  // Refuses work that waits, and all later work. False when work is still in progress after
  // `grace`: its file system hangs, and the destructor would wait for it.
  bool Stop(std::chrono::nanoseconds grace);

 private:
  using Queue = std::deque<std::shared_ptr<Work>>;
  struct Refusal {
    std::shared_ptr<Work> work;
    Status why;
  };

  void Loop();
  // Null once the pool has stopped.
  std::shared_ptr<Work> Next();
  // Drops the work that makes room for the newest work of `caller`, and returns it; empty when
  // there is room.
  std::vector<Refusal> MakeRoom(const std::string& caller) REQUIRES(mutex_);
  Refusal DropNewest(const std::string& caller, Status why) REQUIRES(mutex_);
  std::vector<Refusal> DropAll() REQUIRES(mutex_);

  const WorkPoolOptions options_;
  mutable Mutex mutex_;
  CondVar posted_;                                           // work was posted, or the pool stopped
  CondVar finished_;                                         // a piece of work ended
  std::map<std::string, Queue> waiting_ GUARDED_BY(mutex_);  // by caller; never an empty queue
  std::deque<std::string> turns_ GUARDED_BY(mutex_);         // each caller in `waiting_` once
  size_t waiting_count_ GUARDED_BY(mutex_) = 0;
  int running_count_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

}  // namespace gp::coordinator

// WorkPool: a few threads for one kind of slow work of a service, so that gRPC's own threads only
// pass messages on. Callers take turns: however much one of them asks for, another waits for one
// piece of its work and no more. Owned by the daemon; every method may be called from any thread.
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
  // There is no room, or the pool stops. Quick: it runs on the thread of whoever posted.
  virtual void Refuse(const Status& why) = 0;
};

struct WorkPoolOptions {
  std::string name;  // names the work in messages
  int threads = 2;
  size_t waiting_max = 256;
  // One connection with more open questions than this does not wait for the answers.
  size_t waiting_per_caller_max = 64;
};

class WorkPool {
 public:
  explicit WorkPool(WorkPoolOptions options);
  // Waits for the work in progress; see Stop.
  ~WorkPool();

  // When the pool is full, the newest work of the caller who has the most of it makes room. That
  // may be `caller` itself.
  void Post(const std::string& caller, std::shared_ptr<Work> work);
  // For whoever lost interest. True: the work was waiting and is forgotten, with no further call.
  bool Withdraw(const std::string& caller, const Work& work);

  // Pieces of work that no thread has begun.
  size_t waiting() const;

  // Refuses what waits and what comes. False when work is still in progress after `grace`: its file
  // system hangs, and the destructor would wait for it.
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
  // What must go so that the newest work of `caller` may stay; empty when there is room.
  std::vector<Refusal> MakeRoom(const std::string& caller) REQUIRES(mutex_);
  Refusal DropNewest(const std::string& caller, Status why) REQUIRES(mutex_);
  std::vector<Refusal> DropAll() REQUIRES(mutex_);

  const WorkPoolOptions options_;
  mutable Mutex mutex_;
  CondVar posted_;                                           // or stopped
  CondVar finished_;                                         // some work
  std::map<std::string, Queue> waiting_ GUARDED_BY(mutex_);  // by caller, never an empty queue
  std::deque<std::string> turns_ GUARDED_BY(mutex_);         // each caller in `waiting_` once
  size_t waiting_count_ GUARDED_BY(mutex_) = 0;
  int running_count_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;
};

}  // namespace gp::coordinator

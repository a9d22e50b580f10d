// OffloadPool: a few threads for work that would block the loop: reading files, tokenizing, parsing
// long bodies. Results are posted back to the loop. Submit is called in the loop. Destroy the pool
// after the loop has ended: the destructor waits for running work and drops waiting work.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "http/event_loop.h"

namespace gp::http {

struct OffloadPoolOptions {
  int threads = 2;
  size_t waiting_max = 1024;  // pieces of work that no thread has started
};

class OffloadPool {
 public:
  OffloadPool(EventLoop& loop, const OffloadPoolOptions& options);
  ~OffloadPool();
  OffloadPool(const OffloadPool&) = delete;
  OffloadPool& operator=(const OffloadPool&) = delete;

  // Runs `work` on a thread of the pool; then, in the loop, destroys it with what it captured and
  // calls `done`. False: too much waits; neither will be called.
  bool Submit(std::function<void()> work, std::function<void()> done);

 private:
  struct Piece {
    std::function<void()> work;
    std::function<void()> done;
  };

  void Work();

  EventLoop& loop_;
  const OffloadPoolOptions options_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Piece> waiting_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace gp::http

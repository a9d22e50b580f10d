// FullPool: while it lives, every thread of a pool is blocked and the queue is full, so the pool
// refuses new work. Requests answered meanwhile were handled by the event loop. Use it outside the
// loop.
#pragma once

#include <latch>
#include <memory>

#include "http/offload_pool.h"
#include "lib/http/in_loop.h"

namespace gp::http {

class FullPool {
 public:
  // Requires a pool with the threads of OffloadPoolOptions{} and a running loop.
  FullPool(EventLoop& loop, OffloadPool& pool) {
    for (int i = 0; i < kThreads; ++i) {
      InLoop(loop, [&] {
        pool.Submit(
            [held = held_] {
              held->begun.count_down();
              held->released.wait();
            },
            [] {});
      });
    }
    held_->begun.wait();
    InLoop(loop, [&] {
      while (pool.Submit([] {}, [] {})) {
      }
    });
  }
  ~FullPool() { held_->released.count_down(); }
  FullPool(const FullPool&) = delete;
  FullPool& operator=(const FullPool&) = delete;

 private:
  static constexpr int kThreads = OffloadPoolOptions{}.threads;

  struct Held {
    std::latch begun{kThreads};
    std::latch released{1};
  };

  const std::shared_ptr<Held> held_ = std::make_shared<Held>();
};

}  // namespace gp::http

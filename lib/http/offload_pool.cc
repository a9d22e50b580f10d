#include "http/offload_pool.h"

#include <sys/resource.h>

#include <utility>

namespace gp::http {

OffloadPool::OffloadPool(EventLoop& loop, const OffloadPoolOptions& options)
    : loop_(loop), options_(options) {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
}

OffloadPool::~OffloadPool() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool OffloadPool::Submit(std::function<void()> work, std::function<void()> done) {
  MutexLock lock(mutex_);
  if (waiting_.size() >= options_.waiting_max) return false;
  waiting_.push_back({std::move(work), std::move(done)});
  changed_.NotifyOne();
  return true;
}

void OffloadPool::Work() {
  // A lower priority, so that the loop runs first when there are few cores. On Linux this affects
  // only the calling thread.
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, 0, kNice);
  while (true) {
    Piece piece;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !ending_) changed_.Wait(mutex_);
      if (ending_) return;
      piece = std::move(waiting_.front());
      waiting_.pop_front();
    }
    piece.work();
    // Objects captured by `work` belong to the loop, which may destroy their owner as soon as
    // `done` has run.
    loop_.Post([piece = std::move(piece)]() mutable {
      piece.work = nullptr;
      piece.done();
    });
  }
}

}  // namespace gp::http

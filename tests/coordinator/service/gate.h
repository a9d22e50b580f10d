// Gate: blocks every thread that calls Pass() until a test opens it, like a hanging file system.
// Thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "base/mutex.h"

namespace gp::coordinator {

class Gate {
 public:
  void Close() {
    MutexLock lock(mutex_);
    open_ = false;
  }
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }

  // Waits while the gate is closed.
  void Pass() {
    MutexLock lock(mutex_);
    ++arrived_;
    changed_.NotifyAll();
    while (!open_) changed_.Wait(mutex_);
  }

  // Waits until this many threads have called Pass(); fails the test after 60 s.
  void AwaitArrived(int count) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    MutexLock lock(mutex_);
    while (arrived_ < count) {
      if (!changed_.WaitUntil(mutex_, deadline)) break;
    }
    EXPECT_GE(arrived_, count);
  }
  int arrived() {
    MutexLock lock(mutex_);
    return arrived_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ GUARDED_BY(mutex_) = true;
  int arrived_ GUARDED_BY(mutex_) = 0;
};

}  // namespace gp::coordinator

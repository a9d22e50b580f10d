// Gate: blocks every thread that passes through it, as a file system that hangs does, until a test
// opens it. Thread-safe.
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

  // Waits while it is closed.
  void Pass() {
    MutexLock lock(mutex_);
    ++arrived_;
    changed_.NotifyAll();
    while (!open_) changed_.Wait(mutex_);
  }

  // Waits until this many have arrived; otherwise the test fails.
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

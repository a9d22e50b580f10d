#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace gp {
namespace {

using namespace std::chrono_literals;

class Counter {
 public:
  void Add() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ++value_;
    changed_.NotifyAll();
  }

  // Waits for the value `wanted`; false if it was not reached within `timeout`.
  bool WaitFor(int wanted, std::chrono::nanoseconds timeout) EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(mutex_);
    while (value_ < wanted) {
      if (!changed_.WaitUntil(mutex_, deadline)) return value_ >= wanted;
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int value_ GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, LosesNoIncrementOfManyThreads) {
  Counter counter;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&counter] {
        for (int i = 0; i < 1000; ++i) counter.Add();
      });
    }
  }
  EXPECT_TRUE(counter.WaitFor(4000, 0s));
  EXPECT_FALSE(counter.WaitFor(4001, 0s));
}

TEST(CondVar, WakesTheOneWhoWaits) {
  Counter counter;
  std::jthread other([&counter] { counter.Add(); });
  EXPECT_TRUE(counter.WaitFor(1, 30s));
}

TEST(CondVar, GivesUpAtItsDeadline) {
  Counter counter;
  EXPECT_FALSE(counter.WaitFor(1, 2ms));
}

}  // namespace
}  // namespace gp

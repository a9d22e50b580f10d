// Mailbox<T>: a bounded queue with many senders and one receiver; threads use it to pass work to
// each other. Every method may be called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace gp {

template <typename T>
class Mailbox {
 public:
  explicit Mailbox(size_t capacity) : capacity_(capacity) {}

  // False when the mailbox is full or closed; `message` is then untouched.
  bool TryPost(T& message) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_ || queue_.size() >= capacity_) return false;
    queue_.push_back(std::move(message));
    arrived_.NotifyOne();
    return true;
  }

  // Waits for room. False when `timeout` passed or the mailbox was closed.
  bool Post(T message, std::chrono::nanoseconds timeout) EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(mutex_);
    while (!closed_ && queue_.size() >= capacity_) {
      if (!left_.WaitUntil(mutex_, deadline)) return false;
    }
    if (closed_) return false;
    queue_.push_back(std::move(message));
    arrived_.NotifyOne();
    return true;
  }

  // The waiting messages, at most `count_max`, in order of arrival. Waits up to `timeout` for the
  // first one; empty after the timeout, or when the mailbox is closed and drained.
  std::vector<T> Drain(size_t count_max, std::chrono::nanoseconds timeout) EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(mutex_);
    while (!closed_ && queue_.empty()) {
      if (!arrived_.WaitUntil(mutex_, deadline)) break;
    }
    std::vector<T> messages;
    while (!queue_.empty() && messages.size() < count_max) {
      messages.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    left_.NotifyAll();
    return messages;
  }

  std::optional<T> Receive(std::chrono::nanoseconds timeout) {
    std::vector<T> one = Drain(1, timeout);
    if (one.empty()) return std::nullopt;
    return std::move(one.front());
  }

  // Later posts fail; queued messages can still be received. Wakes all waiters.
  void Close() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    closed_ = true;
    arrived_.NotifyAll();
    left_.NotifyAll();
  }

  bool closed() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return closed_;
  }

  // True if the mailbox is closed and empty: nothing more can be received. A receiver checks this
  // before it leaves its loop. closed() is not enough: a message may be posted after a receive
  // timed out and before Close.
  bool drained() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return closed_ && queue_.empty();
  }

 private:
  const size_t capacity_;
  mutable Mutex mutex_;
  CondVar arrived_;
  CondVar left_;
  std::deque<T> queue_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace gp

// Interruption: one request to stop, for everything that waits. A thread that waits for signals, or
// a test, requests it. Then calls in flight are cancelled and sleeps end at once. A second request
// (Insist) takes effect only in code that checks insisted() and has called MindInsistence.
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>

#include "base/mutex.h"

namespace gp::client {

class Interruption {
 public:
  // The callback is registered until the Scope is destroyed.
  class Scope {
   public:
    Scope(Interruption& owner, int key) : owner_(owner), key_(key) {}
    ~Scope() { owner_.Remove(key_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Interruption& owner_;
    int key_;
  };

  void Request();
  bool requested() const;

  // Call it for each signal: the first one requests, later ones insist. False when insisting has no
  // effect.
  bool Signal();
  // Requests the interruption, and marks that the whole program must end, not only its current
  // work.
  void Leave();
  bool leaving() const;

  // Ends the interruption, so that it may be requested again; callbacks that are still registered
  // run again then. leaving() does not change.
  void Reset();

  // A second request: the work that is being stopped must end at once. False when no code checks
  // for it.
  bool Insist();
  bool insisted() const;
  // Call it when code that stops things checks insisted() from now on.
  void MindInsistence();

  // Waits for the request, at most `duration`. True when it was requested.
  bool WaitFor(std::chrono::nanoseconds duration);

  // `callback` runs when a stop is requested, under this object's lock: it must be short and must
  // not call this object. If the stop was requested already, it runs at once, and only then. It
  // does not run after the Scope is destroyed.
  [[nodiscard]] Scope OnRequest(std::function<void()> callback);

 private:
  void Remove(int key);

  mutable Mutex mutex_;
  CondVar changed_;
  bool requested_ GUARDED_BY(mutex_) = false;
  bool insisted_ GUARDED_BY(mutex_) = false;
  bool minded_ GUARDED_BY(mutex_) = false;
  bool leaving_ GUARDED_BY(mutex_) = false;
  int next_key_ GUARDED_BY(mutex_) = 0;
  std::map<int, std::function<void()>> callbacks_ GUARDED_BY(mutex_);
};

}  // namespace gp::client

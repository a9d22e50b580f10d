// Interruption: one request to stop, seen by everything that waits. A signal handler's thread, or a
// test, requests it; calls in flight are cancelled and sleeps end at once. A second request
// may be made while things are being stopped; MindInsistence asks for it. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>

#include "base/mutex.h"

namespace gp::client {

class Interruption {
 public:
  // Keeps a callback registered while it lives.
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

  // A signal came: the first one requests, later ones insist. False when nobody minds that.
  bool Signal();
  // The program is to end, not only what it does now. Requests it, too.
  void Leave();
  bool leaving() const;

  // Ends the interruption, so that it may be requested again; callbacks that are still registered
  // run again then.
  void Reset();

  // A second request: what is being stopped is to end at once. False when nobody minds it.
  bool Insist();
  bool insisted() const;
  // From here on, somebody looks at insisted() while it stops things.
  void MindInsistence();

  // True when it was requested before `duration` had passed.
  bool WaitFor(std::chrono::nanoseconds duration);

  // `callback` runs once, when it is requested (at once when it already was), under this object's
  // lock: it must be short and must not call back. After the Scope is gone it does not run.
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

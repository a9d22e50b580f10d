#include "client/api/interruption.h"

#include <utility>

namespace gp::client {

void Interruption::Request() {
  MutexLock lock(mutex_);
  if (requested_) return;
  requested_ = true;
  for (auto& [key, callback] : callbacks_) callback();
  changed_.NotifyAll();
}

bool Interruption::requested() const {
  MutexLock lock(mutex_);
  return requested_;
}

bool Interruption::Signal() {
  if (requested()) return Insist();
  Request();
  return true;
}

void Interruption::Leave() {
  {
    MutexLock lock(mutex_);
    leaving_ = true;
  }
  Request();
}

bool Interruption::leaving() const {
  MutexLock lock(mutex_);
  return leaving_;
}

void Interruption::Reset() {
  MutexLock lock(mutex_);
  requested_ = insisted_ = false;
}

bool Interruption::Insist() {
  MutexLock lock(mutex_);
  insisted_ = true;
  return minded_;
}

bool Interruption::insisted() const {
  MutexLock lock(mutex_);
  return insisted_;
}

void Interruption::MindInsistence() {
  MutexLock lock(mutex_);
  minded_ = true;
}

bool Interruption::WaitFor(std::chrono::nanoseconds duration) {
  const auto deadline = std::chrono::steady_clock::now() + duration;
  MutexLock lock(mutex_);
  while (!requested_) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  return requested_;
}

Interruption::Scope Interruption::OnRequest(std::function<void()> callback) {
  MutexLock lock(mutex_);
  const int key = next_key_++;
  if (requested_) {
    callback();
  } else {
    callbacks_.emplace(key, std::move(callback));
  }
  return {*this, key};
}

void Interruption::Remove(int key) {
  MutexLock lock(mutex_);
  callbacks_.erase(key);
}

}  // namespace gp::client

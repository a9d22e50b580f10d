#include "coordinator/control/change_hub.h"

#include <algorithm>

namespace gp::coordinator {

ChangeHub::ChangeHub(Clock& clock, std::chrono::nanoseconds sweep)
    : clock_(clock), sweep_(sweep), sweep_at_(clock.Now() + sweep) {}

ChangeHub::~ChangeHub() { Stop(); }

void ChangeHub::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Loop(stop); });
}

void ChangeHub::Stop() {
  thread_.request_stop();
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void ChangeHub::Subscribe(const Topic& topic, const std::weak_ptr<ChangeListener>& listener) {
  MutexLock lock(mutex_);
  listeners_[topic].push_back(listener);
}

void ChangeHub::Notify(const Topic& topic) {
  MutexLock lock(mutex_);
  if (!listeners_.contains(topic)) return;
  topics_.insert(topic);
  changed_.NotifyOne();
}

void ChangeHub::Loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) RunOnce(sweep_);
}

void ChangeHub::RunOnce(std::chrono::nanoseconds timeout) {
  for (const auto& listener : NextListeners(timeout)) listener->OnChange();
}

std::vector<std::shared_ptr<ChangeListener>> ChangeHub::NextListeners(
    std::chrono::nanoseconds timeout) {
  std::vector<std::shared_ptr<ChangeListener>> living;
  MutexLock lock(mutex_);
  const auto patience = std::min(timeout, sweep_at_ - clock_.Now());
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!stopped_ && topics_.empty()) {
    if (!changed_.WaitUntil(mutex_, deadline)) break;
  }
  const bool sweep = clock_.Now() >= sweep_at_;
  if (sweep) sweep_at_ = clock_.Now() + sweep_;
  for (const auto& [topic, listeners] : listeners_) {
    if (!sweep && !topics_.contains(topic)) continue;
    for (const auto& listener : listeners) {
      if (auto alive = listener.lock()) living.push_back(std::move(alive));
    }
  }
  topics_.clear();
  ForgetTheGone();
  return living;
}

void ChangeHub::ForgetTheGone() {
  for (auto it = listeners_.begin(); it != listeners_.end();) {
    std::erase_if(it->second, [](const auto& listener) { return listener.expired(); });
    it = it->second.empty() ? listeners_.erase(it) : std::next(it);
  }
}

}  // namespace gp::coordinator

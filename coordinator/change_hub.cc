#include "coordinator/change_hub.h"

namespace gp::coordinator {
ChangeHub::ChangeHub(std::chrono::nanoseconds idle) : idle_(idle), thread_([this] { Loop(); }) {}

ChangeHub::~ChangeHub() { Stop(); }

void ChangeHub::Subscribe(const std::string& topic, const std::weak_ptr<ChangeListener>& listener) {
  MutexLock lock(mutex_);
  listeners_[topic].push_back(listener);
}

void ChangeHub::Notify(const std::string& topic) {
  MutexLock lock(mutex_);
  if (!listeners_.contains(topic)) return;
  topics_.insert(topic);
  changed_.NotifyOne();
}

void ChangeHub::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void ChangeHub::Loop() {
  std::vector<std::shared_ptr<ChangeListener>> listeners;
  while (Next(listeners)) {
    for (const auto& listener : listeners) listener->OnChange();
    listeners.clear();
  }
}

bool ChangeHub::Next(std::vector<std::shared_ptr<ChangeListener>>& listeners) {
  MutexLock lock(mutex_);
  while (!stopped_ && topics_.empty()) {
    if (changed_.WaitFor(mutex_, idle_)) continue;
    for (const auto& [topic, listeners_of_topic] : listeners_) topics_.insert(topic);
    break;
  }
  for (const std::string& topic : topics_) {
    for (const auto& listener : listeners_[topic]) {
      if (auto living = listener.lock()) listeners.push_back(std::move(living));
    }
  }
  topics_.clear();
  for (auto it = listeners_.begin(); it != listeners_.end();) {
    std::erase_if(it->second, [](const auto& listener) { return listener.expired(); });
    it = it->second.empty() ? listeners_.erase(it) : std::next(it);
  }
  return !stopped_;
}

}  // namespace gp::coordinator

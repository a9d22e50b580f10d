// ChangeHub: wakes streams when something changed. It has a thread of its own, so the caller that
// announces a change (announcer.h) never waits for the listeners. A change wakes only the listeners
// of its topic. The hub merges several changes of one topic into one wake-up. Every method may be
// called from any thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/state/ids.h"

namespace gp::coordinator {

// Called on the hub's thread when there may be something new; possibly once more after the listener
// has lost interest.
class ChangeListener {
 public:
  virtual ~ChangeListener() = default;
  virtual void OnChange() = 0;
};

class ChangeHub {
 public:
  // A run's topic: an event named it, or points or lines of it were recorded. A node's topic: its
  // assignment may have changed, or it was revoked.
  using Topic = std::variant<RunId, NodeId>;

  // Every `sweep` the hub wakes all listeners. So a listener also sees what nobody announces: an
  // expired token, or a change just before it subscribed.
  explicit ChangeHub(Clock& clock, std::chrono::nanoseconds sweep = std::chrono::seconds(1));
  ~ChangeHub();

  void Start();
  void Stop();

  // Notifies `listener` of changes of `topic` as long as it exists.
  void Subscribe(const Topic& topic, const std::weak_ptr<ChangeListener>& listener);
  void Notify(const Topic& topic);

  // Waits up to `timeout` for a change, then wakes its listeners. For tests that drive it by hand;
  // not with Start.
  void RunOnce(std::chrono::nanoseconds timeout);

 private:
  using Listeners = std::vector<std::weak_ptr<ChangeListener>>;

  void Loop(const std::stop_token& stop);
  // The living listeners of the topics that changed.
  std::vector<std::shared_ptr<ChangeListener>> NextListeners(std::chrono::nanoseconds timeout);
  void ForgetTheGone() REQUIRES(mutex_);

  Clock& clock_;
  const std::chrono::nanoseconds sweep_;
  Mutex mutex_;
  CondVar changed_;
  std::map<Topic, Listeners> listeners_ GUARDED_BY(mutex_);
  std::set<Topic> topics_ GUARDED_BY(mutex_);
  MonotonicTime sweep_at_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace gp::coordinator

// ChangeHub: tells streams that something changed, on one thread of its own, so that whoever causes
// a change never waits for whoever watches. A change wakes those who listen to its topic and nobody
// else. Changes that come faster than the streams can follow are told once. Every method may be
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

// Looks for news. Called on the hub's thread, possibly once more after it lost interest.
class ChangeListener {
 public:
  virtual ~ChangeListener() = default;
  virtual void OnChange() = 0;
};

class ChangeHub {
 public:
  // A run: what users are told about it. A node: what its agent is told to run.
  using Topic = std::variant<RunId, NodeId>;

  // Every `sweep` everybody looks again, however much is told in between: nobody waits for ever for
  // what was not announced.
  explicit ChangeHub(Clock& clock, std::chrono::nanoseconds sweep = std::chrono::seconds(1));
  ~ChangeHub();

  void Start();
  void Stop();

  // Changes of `topic` are told to `listener` while it lives.
  void Subscribe(const Topic& topic, const std::weak_ptr<ChangeListener>& listener);
  void Notify(const Topic& topic);

  // Tells what changed; waits up to `timeout` for a change. For tests that drive it by hand; not
  // with Start.
  void RunOnce(std::chrono::nanoseconds timeout);

 private:
  using Listeners = std::vector<std::weak_ptr<ChangeListener>>;

  void Loop(const std::stop_token& stop);
  // The living listeners of the topics that changed.
  std::vector<std::shared_ptr<ChangeListener>> Take(std::chrono::nanoseconds timeout);
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

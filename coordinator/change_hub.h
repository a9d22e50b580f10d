// ChangeHub: tells streams that something changed, on one thread of its own, so that whoever causes
// a change never waits for whoever watches. Changes that come faster than the streams can follow
// are told once. Every method may be called from any thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace gp::coordinator {

// Looks for news. Called on the hub's thread, possibly once more after it lost interest.
class ChangeListener {
 public:
  virtual ~ChangeListener() = default;
  virtual void OnChange() = 0;
};

class ChangeHub {
 public:
  // Without news everybody looks again every `idle`: a stream may also wait for what nobody
  // announces.
  explicit ChangeHub(std::chrono::nanoseconds idle = std::chrono::seconds(1));
  ~ChangeHub();

  // Changes of `topic` (a run id; kNodes for what concerns every agent) are told to `listener`
  // while it lives.
  void Subscribe(const std::string& topic, const std::weak_ptr<ChangeListener>& listener);
  void Notify(const std::string& topic);
  void Stop();

  static constexpr const char* kNodes = "nodes";

 private:
  using Listeners = std::vector<std::weak_ptr<ChangeListener>>;

  void Loop();
  // The living listeners of the topics that changed; waits for a change. False once stopped.
  bool Next(std::vector<std::shared_ptr<ChangeListener>>& listeners);

  const std::chrono::nanoseconds idle_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Listeners> listeners_ GUARDED_BY(mutex_);
  std::set<std::string> topics_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace gp::coordinator

// FleetFeed: asks the coordinator for nodes and runs again and again, on its own thread, and keeps
// a FleetModel up to date. Owned and read by gpctl's main thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "base/status.h"
#include "client/api/run_client.h"
#include "client/gpctl/render/fleet_model.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

class FleetFeed {
 public:
  // One question, for output that is not redrawn.
  static StatusOr<FleetModel> Read(Session& session);

  // `on_news` runs on the feed's thread after each change; it must be short.
  static StatusOr<std::unique_ptr<FleetFeed>> Open(std::chrono::nanoseconds interval,
                                                   std::function<void()> on_news, Session& session);
  ~FleetFeed();

  // Calls `read` with the model; nothing changes meanwhile.
  void Read(const std::function<void(const FleetModel&)>& read) const;
  // The error that has ended the feed: the coordinator was away for too long, or refuses.
  Status status() const;

 private:
  FleetFeed(std::chrono::nanoseconds interval, std::function<void()> on_news, std::string scope)
      : interval_(interval), on_news_(std::move(on_news)), namespace_(std::move(scope)) {}
  void Follow();
  Status Ask();
  void SetNotice(const std::string& notice);

  const std::chrono::nanoseconds interval_;
  const std::function<void()> on_news_;
  const std::string namespace_;
  client::Interruption stop_;
  std::unique_ptr<client::RunClient> client_;
  mutable Mutex mutex_;
  FleetModel model_ GUARDED_BY(mutex_);
  Status status_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace gp::gpctl

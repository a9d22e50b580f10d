// RunFeed: follows one run through the coordinator's streams, a thread for each, and keeps a
// RunModel up to date. Owned and read by gpctl's main thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "client/api/run_client.h"
#include "client/gpctl/render/run_model.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct FeedOptions {
  bool events = false;
  bool samples = false;  // also deliver the samples in rank 0's log
  // Also deliver the log of all ranks, beginning with its last lines, and the samples in it. Not
  // together with `samples`.
  bool log_tail = false;
  // The time budget of the run; 0: from its resolved file.
  double time_budget_seconds = 0;
};

class RunFeed {
 public:
  static StatusOr<std::unique_ptr<RunFeed>> Open(const v1::Run& run, const FeedOptions& options,
                                                 Session& session);
  ~RunFeed();

  // Waits until the run has ended, at most `longest`. True when it has. Cancelled when the user
  // interrupted; an error when the coordinator was lost for good (RunClientOptions::outage_max).
  StatusOr<bool> WaitForEnd(std::chrono::nanoseconds longest);

  // Waits until every stream has delivered the rest of an ended run, at most `longest`.
  void Drain(std::chrono::nanoseconds longest);

  RunModel Model() const;
  // Calls `read` with the model; no news is applied meanwhile.
  void Read(const std::function<void(const RunModel&)>& read) const;

  // `callback` runs when the run has ended or cannot be followed, under a lock: it must be short.
  [[nodiscard]] client::Interruption::Scope OnEnd(std::function<void()> callback) {
    return ended_.OnRequest(std::move(callback));
  }

 private:
  RunFeed(const v1::Run& run, Session& session);
  void Start(const FeedOptions& options);
  void SetNotice(const std::string& notice);
  void Follow(Status (RunFeed::*stream)());

  Status FollowRun();
  Status FollowMetrics();
  Status FollowEvents();
  Status FollowSamples();
  Status FollowLog();

  const std::string run_id_;
  client::Interruption& user_;
  client::Interruption stop_;
  client::Interruption ended_;  // requested when the run is terminal or the watch has failed
  std::unique_ptr<client::RunClient> client_;
  mutable Mutex mutex_;
  CondVar stream_done_;
  int streams_left_ GUARDED_BY(mutex_) = 0;
  Status status_ GUARDED_BY(mutex_);
  RunModel model_ GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;
};

}  // namespace gp::gpctl

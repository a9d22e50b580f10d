// Notifier: notifies people and programs of what happens to runs. Its thread reads the durable
// event log, a moment behind the Reconciler, and puts the notifications into the
// NotificationQueue; a TargetSender for each target sends them. Nothing waits for it: not the
// Reconciler, no service and no agent. Built by the daemon; Start and Stop from one thread, every
// other method may be called from any.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/notifications/event_log.h"
#include "coordinator/notifications/notification_plan.h"
#include "coordinator/notifications/notification_queue.h"
#include "coordinator/notifications/notification_target.h"
#include "coordinator/notifications/target_sender.h"
#include "coordinator/notifications/waiting_runs.h"
#include "coordinator/telemetry/notification_series.h"

namespace gp::coordinator {

struct NotifierContext {
  std::string state_dir;
  std::function<std::shared_ptr<const Cluster>()> snapshot;  // the newest published state
  std::function<Progress(const RunId&)> progress;
  NotificationSeries& series;
  const Clock& clock;
};

struct NotifierOptions {
  std::chrono::nanoseconds period = std::chrono::milliseconds(500);  // between two looks at the log
  QueueLimits limits;
  SenderOptions sender;
};

struct TargetState {
  NotificationTarget target;
  QueueState queue;
  SenderState sender;
};

class Notifier {
 public:
  // Opens the queue. A target that is new begins after the newest event of the log.
  static StatusOr<std::unique_ptr<Notifier>> Open(NotificationTargets targets,
                                                  NotifierContext context,
                                                  NotifierOptions options = {});
  ~Notifier();

  void Start();
  void Stop();

  StatusOr<std::vector<TargetState>> States();
  // The targets that runs of this namespace may name in `notify`.
  std::vector<std::string> TargetsFor(const std::string& run_namespace) const;
  // NotFound lists the targets there are. See TargetSender::Test for `on_tested`.
  void Test(const std::string& target, const TargetSender::OnTested& on_tested);

  // Considers the events since the last look, and the waits that became too long.
  Status Look();

 private:
  Notifier(NotificationTargets targets, NotifierContext context, NotifierOptions options,
           std::unique_ptr<NotificationQueue> queue, EventLog log, uint64_t cursor);

  void Loop();
  Status ReadWaits(const Cluster& cluster);
  Status ReadEvents(const Cluster& cluster);
  Status ReportWaits(const Cluster& cluster);
  Status Keep(const QueueAddition& addition);
  RunKnowledge KnowledgeOf(const Cluster& cluster);
  StatusOr<std::shared_ptr<const Run>> FindRun(const Cluster& cluster, const RunId& id);
  void WakeSenders();

  const NotificationTargets targets_;
  const NotifierContext context_;
  const NotifierOptions options_;
  const std::unique_ptr<NotificationQueue> queue_;
  std::deque<TargetSender> senders_;
  // Used by the thread that calls Look:
  EventLog log_;
  uint64_t cursor_ = 0;
  bool waits_are_read_ = false;
  WaitingRuns waiting_;
  Timestamp kept_at_{};  // the last change of the queue

  Mutex mutex_;
  CondVar stopping_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace gp::coordinator

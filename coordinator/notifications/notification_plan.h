// Decides which notifications follow from events of the log, and for which targets. Pure, but for
// what it is given to look things up; thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "coordinator/notifications/notification_queue.h"
#include "coordinator/notifications/notification_target.h"
#include "coordinator/notifications/waiting_runs.h"
#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {

// Looks up runs, as they were at the newest of the events or later.
struct RunKnowledge {
  // Null if nothing is known of the run. An error means that it cannot be told now.
  std::function<StatusOr<std::shared_ptr<const Run>>(const RunId&)> run;
  std::function<Progress(const RunId&)> progress;
};

// REQUIRES: `events` is not empty.
StatusOr<QueueAddition> PlanNotifications(const std::vector<StoredEvent>& events,
                                          const std::vector<NotificationTarget>& targets,
                                          const RunKnowledge& known);

// The notifications of runs that have waited for too long.
StatusOr<QueueAddition> PlanWaitingNotifications(const std::vector<std::pair<RunId, SlotWait>>& due,
                                                 Timestamp now,
                                                 const std::vector<NotificationTarget>& targets,
                                                 const RunKnowledge& known);

}  // namespace gp::coordinator

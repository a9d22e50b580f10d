// Notification: what happened to a run, as receivers get it (docs/operations/notifications.md).
// Values and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/notifications/notification_target.h"
#include "coordinator/notifications/occasion.h"
#include "coordinator/state/run.h"
#include "coordinator/store/store.h"
#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {

// The same for every target, and for each attempt to send it.
struct Notification {
  std::string key;   // tells notifications apart: a receiver drops those that it has seen
  std::string body;  // JSON
};

// A notification of a stored event. `run` and `progress` are those of the event or of any later
// time.
Notification MakeNotification(Occasion occasion, const StoredEvent& stored, const Run& run,
                              const Progress& progress);
// Makes the notification that a run has waited for slots since the event with this number.
Notification MakeWaitingNotification(uint64_t sequence, Timestamp since, Timestamp now,
                                     const Run& run);
// The notification that 'gpctl notify test' sends.
Notification MakeTestNotification(const std::string& id, Timestamp now);

// The body in the form that this kind of target takes.
std::string BodyFor(TargetKind kind, const std::string& body);

}  // namespace gp::coordinator

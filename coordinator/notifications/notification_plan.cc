#include "coordinator/notifications/notification_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "coordinator/notifications/notification.h"

namespace gp::coordinator {
namespace {

bool IsWanted(Occasion occasion, const Run& run, const std::vector<NotificationTarget>& targets) {
  return std::ranges::any_of(
      targets, [&](const NotificationTarget& target) { return target.Wants(occasion, run); });
}

// Adds a row for each target that wants it. `row` lacks only the target.
void AddRows(Occasion occasion, const Run& run, const QueueAddition::Row& row,
             const std::vector<NotificationTarget>& targets, QueueAddition& addition) {
  for (const NotificationTarget& target : targets) {
    if (!target.Wants(occasion, run)) continue;
    addition.rows.push_back(row);
    addition.rows.back().target = target.name;
  }
}

Status AddEvent(const StoredEvent& stored, const std::vector<NotificationTarget>& targets,
                const RunKnowledge& known, QueueAddition& addition) {
  if (!MayBeOccasion(stored.event)) return OkStatus();
  ASSIGN_OR_RETURN(const auto run, known.run(stored.event.run));
  if (run == nullptr) return OkStatus();
  const std::optional<Occasion> occasion = OccasionOf(stored.event, *run);
  if (!occasion || !IsWanted(*occasion, *run, targets)) return OkStatus();
  Notification made = MakeNotification(*occasion, stored, *run, known.progress(run->id));
  AddRows(*occasion, *run,
          {.key = std::move(made.key),
           .body = std::move(made.body),
           .at = stored.event.at,
           .sequence = stored.sequence},
          targets, addition);
  return OkStatus();
}

}  // namespace

StatusOr<QueueAddition> PlanNotifications(const std::vector<StoredEvent>& events,
                                          const std::vector<NotificationTarget>& targets,
                                          const RunKnowledge& known) {
  QueueAddition addition;
  for (const StoredEvent& stored : events) {
    RETURN_IF_ERROR(AddEvent(stored, targets, known, addition));
    if (ChangesWait(stored.event)) addition.ended_waits.push_back(stored.event.run);
  }
  addition.through = events.back().sequence;
  return addition;
}

StatusOr<QueueAddition> PlanWaitingNotifications(const std::vector<std::pair<RunId, SlotWait>>& due,
                                                 Timestamp now,
                                                 const std::vector<NotificationTarget>& targets,
                                                 const RunKnowledge& known) {
  QueueAddition addition;
  for (const auto& [id, wait] : due) {
    ASSIGN_OR_RETURN(const auto run, known.run(id));
    if (run == nullptr) continue;
    Notification made = MakeWaitingNotification(wait.sequence, wait.since, now, *run);
    AddRows(Occasion::kWaiting, *run,
            {.key = std::move(made.key), .body = std::move(made.body), .at = now}, targets,
            addition);
    addition.waits[id] = wait.sequence;
  }
  return addition;
}

}  // namespace gp::coordinator

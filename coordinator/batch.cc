#include "coordinator/batch.h"

#include "base/check.h"

namespace gp::coordinator {
namespace {

// A run passes through a handful of states in one turn at most; more means that the planner repeats
// itself.
constexpr int kPlanRoundsMax = 16;

}  // namespace

Batch::Batch(const Cluster& before, const Now& now) : now_(now), after_(before) {
  const Status ticked = Apply({.at = now.wall, .body = Tick{now.instant}}, after_);
  GP_CHECK(ticked.ok());
}

StatusOr<Admission> Batch::Take(const Event& event) {
  ASSIGN_OR_RETURN(Admission admission, Admit(after_, event));
  if (!admission.append) return admission;
  Event stamped = event;
  stamped.at = now_.wall;
  RETURN_IF_ERROR(ApplyEvent(stamped));
  return admission;
}

void Batch::Plan(const Policy& policy, const MakeSecret& make_secret) {
  for (int round = 0; round < kPlanRoundsMax; ++round) {
    const gp::coordinator::Plan plan = MakePlan(after_, policy, now_);
    if (plan.empty()) return;
    for (const Action& action : plan) TakePlanned(action, make_secret);
  }
  GP_CHECK(false, "the planner does not come to rest");
}

void Batch::TakePlanned(const Action& action, const MakeSecret& make_secret) {
  Event event{.run = action.run, .at = now_.wall, .actor = action.actor, .body = action.event};
  if (auto* ready = std::get_if<RunGroupReady>(&event.body)) ready->secret = make_secret();
  const Status status = ApplyEvent(event);
  GP_CHECK(status.ok(), "the plan is impossible: {}", Message(status));
}

Status Batch::ApplyEvent(const Event& event) {
  RETURN_IF_ERROR(Apply(event, after_));
  changed_ = true;
  if (!event.run.empty()) touched_.insert(event.run);
  if (IsDurable(event)) durable_.push_back(event);
  return OkStatus();
}

}  // namespace gp::coordinator

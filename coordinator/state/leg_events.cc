#include "coordinator/state/leg_events.h"

#include <algorithm>
#include <utility>

namespace gp::coordinator {
namespace {

// The next leg computes with the engine of the last one, so that the bits stay the same. Another
// device needs another engine.
Engine NextEngine(const Engine& last, const Submission& submission) {
  Engine next = last;
  if (submission.device != Device::kAuto && submission.device != last.device) {
    next = {.device = submission.device};
  }
  next.logical_shards = submission.logical_shards;
  return next;
}

void SupersedeAfter(int64_t step, Run& run) {
  const auto first =
      std::find_if(run.checkpoints.begin(), run.checkpoints.end(),
                   [step](const SealedCheckpoint& checkpoint) { return checkpoint.step > step; });
  run.superseded.insert(run.superseded.end(), first, run.checkpoints.end());
  run.checkpoints.erase(first, run.checkpoints.end());
  for (QuarantinedCheckpoint& held : run.quarantined) {
    if (held.checkpoint.step > step) held.superseded = true;
  }
}

// Ends the newest leg, if it has not ended, and begins the one that was requested.
void BeginNextLeg(const RunChange& change, Run& run) {
  NextLeg next = *std::exchange(run.next_leg, std::nullopt);
  if (run.leg.why_ended.empty()) {
    EndLeg(run.HasFinalCheckpoint() ? "trained all its steps" : next.why, change.event().at, run);
  }
  run.ended_legs.push_back({run.leg, WithoutTexts(run.submission)});
  const SealedCheckpoint* latest = run.LatestCheckpoint();
  const int64_t newest = latest == nullptr ? -1 : latest->step;
  run.leg = {.number = run.leg.number + 1,
             .engine = NextEngine(run.leg.engine, *next.submission),
             .first_step = next.first_step.value_or(newest),
             .first_step_asked = next.first_step.has_value(),
             .first_epoch = run.epoch + 1,
             .request_id = std::move(next.request_id),
             .body_digest = std::move(next.body_digest),
             .why_begun = std::move(next.why),
             .begun_at = change.event().at};
  run.submission = std::move(next.submission);
  SupersedeAfter(run.leg.first_step, run);
  run.state = RunState::kQueued;
  run.state_since = change.cluster().now;
  run.reason = run.leg.why_begun;
  run.finished_at.reset();
  run.ended_sequence = 0;
  ForgetFailures(run);
  run.gave_up = run.set_aside = run.cancel_now = run.pausing = false;
  run.cancel_reason.clear();
  run.suspicion.reset();
  run.lacking_nodes.clear();
  run.resume_step = -1;
}

}  // namespace

void NoteLostStart(int64_t resume_step, Run& run) {
  Leg& leg = run.leg;
  if (resume_step >= leg.first_step) return;
  leg.why_begun += fmt::format(" (step {} was {})", leg.first_step, HowLost(run, leg.first_step));
  leg.first_step = resume_step;
}

void EndLeg(const std::string& why, Timestamp at, Run& run) {
  run.leg.why_ended = why;
  run.leg.ended_at = at;
}

Status ApplyBody(const PauseRequested&, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (!run.holds_slots) {
    RETURN_IF_ERROR(change.Move(RunState::kPaused, "paused by " + change.event().actor, run));
    run.gave_up = false;
  } else {
    if (!IsAllowed(run.state, RunState::kPaused))
      return change.Impossible("it cannot be paused now");
    run.pausing = true;
  }
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunPaused& paused, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (!run.pausing) return change.Impossible("nobody asked to pause it");
  RETURN_IF_ERROR(change.Move(RunState::kPaused, paused.reason, run));
  if (run.holds_slots) change.Withdraw(run);
  run.pausing = run.gave_up = false;
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const RunResumed&, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (run.state != RunState::kPaused) return change.Impossible("it is not paused");
  RETURN_IF_ERROR(change.Move(RunState::kQueued, "resumed by " + change.event().actor, run));
  ForgetFailures(run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const LegRequested& requested, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (run.state == RunState::kCancelling) return change.Impossible("it is being cancelled");
  const std::string refusal = LegRefusal(run, requested.first_step);
  if (!refusal.empty()) return change.Impossible(refusal);
  Submission submission = requested.submission;
  submission.request_id = run.submission->request_id;
  submission.body_digest = run.submission->body_digest;
  run.next_leg = {change.Recorded(std::move(submission)), requested.first_step, requested.why,
                  change.event().request_id, requested.body_digest};
  if (!run.holds_slots) BeginNextLeg(change, run);
  change.Save(std::move(run));
  return OkStatus();
}

Status ApplyBody(const LegBegun&, RunChange& change) {
  ASSIGN_OR_RETURN(Run run, change.Existing());
  if (!run.next_leg) return change.Impossible("nobody asked for another leg");
  if (run.holds_slots) change.Withdraw(run);
  BeginNextLeg(change, run);
  change.Save(std::move(run));
  return OkStatus();
}

}  // namespace gp::coordinator

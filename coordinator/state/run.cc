#include "coordinator/state/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "coordinator/state/initial_model.h"

namespace gp::coordinator {
namespace {

const EndedLeg* FindEndedLeg(const Run& run, int number) {
  const auto found = std::find_if(run.ended_legs.begin(), run.ended_legs.end(),
                                  [&](const EndedLeg& one) { return one.leg.number == number; });
  return found == run.ended_legs.end() ? nullptr : &*found;
}

// `AnyRun`: Run or const Run.
template <typename AnyRun>
auto FindWithKey(AnyRun& run, const CheckpointKey& key) -> decltype(run.checkpoints.data()) {
  for (auto* sealed : {&run.checkpoints, &run.superseded}) {
    for (auto& one : *sealed) {
      if (one.step == key.step && one.epoch == key.epoch) return &one;
    }
  }
  return nullptr;
}

// The newest steps that a leg can begin from: "it has steps 150, 200".
std::string StepsText(const Run& run) {
  constexpr size_t kStepsMax = 10;
  std::vector<std::string> steps;
  for (auto one = run.checkpoints.rbegin(); one != run.checkpoints.rend(); ++one) {
    if (!one->retired) steps.push_back(std::to_string(one->step));
  }
  if (steps.empty()) {
    return fmt::format("it has none; begin again: gpctl restart {} --from start",
                       run.submission->name);
  }
  const bool more = steps.size() > kStepsMax;
  if (more) steps.resize(kStepsMax);
  std::reverse(steps.begin(), steps.end());
  return fmt::format("it has steps {}{}", more ? "..., " : "", fmt::join(steps, ", "));
}

}  // namespace

std::shared_ptr<const Submission> WithoutTexts(const std::shared_ptr<const Submission>& whole) {
  if (whole->texts_are_stored) return whole;
  auto slim = std::make_shared<Submission>(*whole);
  slim->initial_model = InitialModelOf(*whole);
  for (std::string* text : {&slim->source, &slim->resolved}) {
    std::string().swap(*text);  // an assignment would keep the memory
  }
  slim->texts_are_stored = true;
  return slim;
}

const SealedCheckpoint* Run::LatestCheckpoint() const {
  for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
    if (!it->retired) return &*it;
  }
  return nullptr;
}

const SealedCheckpoint* Run::CheckpointBefore(int64_t step) const {
  for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
    if (!it->retired && it->step < step) return &*it;
  }
  return nullptr;
}

const SealedCheckpoint* Run::BestCheckpoint() const {
  const SealedCheckpoint* best = nullptr;
  for (const SealedCheckpoint& checkpoint : checkpoints) {
    if (checkpoint.retired || !checkpoint.validation_loss) continue;
    // A loss that is no number is worse than any other.
    const bool better = best == nullptr || std::isnan(*best->validation_loss) ||
                        *checkpoint.validation_loss <= *best->validation_loss;
    if (better) best = &checkpoint;
  }
  return best;
}

const SealedCheckpoint* Run::FindCheckpoint(int64_t step) const {
  for (const SealedCheckpoint& checkpoint : checkpoints) {
    if (checkpoint.step == step) return &checkpoint;
  }
  return nullptr;
}

const SealedCheckpoint* Run::FindSuperseded(int64_t step) const {
  for (auto it = superseded.rbegin(); it != superseded.rend(); ++it) {
    if (it->step == step) return &*it;
  }
  return nullptr;
}

bool Run::HasFinalCheckpoint() const {
  return !checkpoints.empty() && checkpoints.back().final && checkpoints.back().leg == leg.number;
}

const QuarantinedCheckpoint* Run::FindQuarantined(int64_t step) const {
  for (auto it = quarantined.rbegin(); it != quarantined.rend(); ++it) {
    if (it->checkpoint.step == step) return &*it;
  }
  return nullptr;
}

void NoteOwnExit(int64_t step, const NodeId& node, Run& run) {
  run.idle_exits = step > run.exited_step ? 1 : run.idle_exits + 1;
  if (step < run.exited_step) return;
  run.exited_step = step;
  run.exited_on = node;
}

void ForgetFailures(Run& run) {
  run.failures_since_seal = 0;
  run.idle_exits = 0;
  run.exited_step = -1;
  run.exited_on = {};
}

const SealedCheckpoint* FindSealed(const Run& run, const CheckpointKey& key) {
  return FindWithKey(run, key);
}

SealedCheckpoint* FindSealed(Run& run, const CheckpointKey& key) { return FindWithKey(run, key); }

const SealedCheckpoint* FindOfStep(const Run& run, int64_t step) {
  for (const auto* sealed : {&run.checkpoints, &run.superseded}) {
    for (auto one = sealed->rbegin(); one != sealed->rend(); ++one) {
      if (one->step == step && !one->retired) return &*one;
    }
  }
  return nullptr;
}

std::pair<const SealedCheckpoint*, bool> FindEvaluated(const Run& run, int64_t step, double loss) {
  const auto is_it = [&](const SealedCheckpoint& one) {
    return one.step == step && !one.retired && one.validation_loss.value_or(loss) == loss;
  };
  for (const auto* sealed : {&run.checkpoints, &run.superseded}) {
    const auto found = std::find_if(sealed->rbegin(), sealed->rend(), is_it);
    if (found != sealed->rend()) return {&*found, sealed == &run.superseded};
  }
  return {nullptr, false};
}

bool AwaitsVerdict(const Run& run) {
  if (!run.suspicion || run.suspicion->whole) return false;
  return run.suspicion->asks_coordinator || run.suspicion->told_by.size() > 1;
}

std::string RequestedLeave(const Run& run) {
  if (run.pausing) return "a user paused the run";
  return run.next_leg ? run.next_leg->why : "";
}

std::vector<std::string> SealedDirectories(const Run& run) {
  std::vector<std::string> directories;
  for (const auto* sealed : {&run.checkpoints, &run.superseded}) {
    for (const SealedCheckpoint& checkpoint : *sealed) {
      if (!checkpoint.retired) directories.push_back(checkpoint.directory);
    }
  }
  return directories;
}

const Leg& LegNumbered(const Run& run, int number) {
  const EndedLeg* ended = FindEndedLeg(run, number);
  return ended == nullptr ? run.leg : ended->leg;
}

const Submission& SubmissionOfLeg(const Run& run, int number) {
  const EndedLeg* ended = FindEndedLeg(run, number);
  return ended == nullptr ? *run.submission : *ended->submission;
}

std::string LegRefusal(const Run& run, const std::optional<int64_t>& first_step) {
  if (!first_step || *first_step < 0) return "";
  const SealedCheckpoint* from = run.FindCheckpoint(*first_step);
  if (from != nullptr && !from->retired) return "";
  if (run.FindQuarantined(*first_step) != nullptr) {
    return fmt::format("its checkpoint of step {} is in quarantine", *first_step);
  }
  if (run.FindSuperseded(*first_step) != nullptr) {
    return fmt::format("its checkpoint of step {} belongs to an earlier leg; fork from it instead",
                       *first_step);
  }
  return fmt::format("it has no checkpoint of step {}; {}", *first_step, StepsText(run));
}

std::string_view HowLost(const Run& run, int64_t step) {
  const QuarantinedCheckpoint* held = run.FindQuarantined(step);
  return held != nullptr && !held->lost ? "damaged" : "gone";
}

std::string LostStartRefusal(const Run& run) {
  const Leg& leg = run.leg;
  if (!leg.first_step_asked || leg.first_step < 0) return "";
  const SealedCheckpoint* latest = run.LatestCheckpoint();
  if (latest != nullptr && latest->step >= leg.first_step) return "";
  const std::string& name = run.submission->name;
  return fmt::format("the checkpoint of step {}, from which it was to restart, is {}; {}",
                     leg.first_step, HowLost(run, leg.first_step),
                     latest == nullptr
                         ? fmt::format("no older one is left: gpctl restart {} --from start", name)
                         : fmt::format("the next older one is that of step {0}: gpctl restart {1} "
                                       "--from {0}",
                                       latest->step, name));
}

std::string RestoreRefusal(const Run& run, int64_t step) {
  if (run.FindQuarantined(step) == nullptr) {
    return fmt::format("no checkpoint of step {} is in quarantine", step);
  }
  if (run.FindQuarantined(step)->superseded) return "";
  if (const SealedCheckpoint* again = run.FindCheckpoint(step)) {
    return fmt::format("step {} was trained and sealed again, in epoch {}; nothing is missing",
                       step, again->epoch);
  }
  const int64_t newest = run.checkpoints.empty() ? -1 : run.checkpoints.back().step;
  if (run.holds_slots && step > newest) {
    return fmt::format(
        "the run trains towards step {} again; wait until it has sealed a later step or has ended",
        step);
  }
  return "";
}

std::vector<Placement> SlotsOf(const Run& run) {
  std::vector<Placement> slots = run.placement;
  for (const Joiner& joiner : run.joiners) slots.push_back(joiner.place);
  return slots;
}

int WantedRanks(const Run& run) { return run.submission->workers; }

bool IsPlacedOn(const Run& run, const NodeId& node) {
  return std::any_of(run.placement.begin(), run.placement.end(),
                     [&](const Placement& placement) { return placement.node == node; }) ||
         std::any_of(run.joiners.begin(), run.joiners.end(),
                     [&](const Joiner& joiner) { return joiner.place.node == node; });
}

bool SumsOnGpus(const Run& run) {
  return run.leg.engine.device == Device::kGpu && run.placement.size() > 1;
}

}  // namespace gp::coordinator

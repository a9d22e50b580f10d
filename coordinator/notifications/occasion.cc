#include "coordinator/notifications/occasion.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "contract/divergence_warning.h"

namespace gp::coordinator {
namespace {

// Whether `other` was sealed before `sealed` and is a checkpoint that the leg of `sealed` builds
// on. `superseded`: another leg left `other` behind.
bool Precedes(const SealedCheckpoint& other, bool superseded, const CheckpointSealed& sealed) {
  if (superseded && other.leg != sealed.leg) return false;
  return std::pair(other.epoch, other.step) < std::pair(sealed.epoch, sealed.checkpoint.step);
}

bool IsNewBest(const CheckpointSealed& sealed, const Run& run) {
  const std::optional<double>& loss = sealed.checkpoint.validation_loss;
  if (!loss || !std::isfinite(*loss)) return false;
  const auto is_better = [&](const SealedCheckpoint& other, bool superseded) {
    return other.validation_loss && *other.validation_loss <= *loss &&
           Precedes(other, superseded, sealed);
  };
  return std::ranges::none_of(run.checkpoints,
                              [&](const auto& other) { return is_better(other, false); }) &&
         std::ranges::none_of(run.superseded,
                              [&](const auto& other) { return is_better(other, true); });
}

}  // namespace

const std::vector<std::string>& OccasionNames() {
  static const std::vector<std::string> names = {"finished", "failed",   "diverged",
                                                 "stalled",  "new_best", "waiting"};
  return names;
}

std::string_view Name(Occasion occasion) { return OccasionNames()[static_cast<size_t>(occasion)]; }

bool MayBeOccasion(const Event& event) {
  return std::holds_alternative<RunEnded>(event.body) ||
         std::holds_alternative<RankFailed>(event.body) ||
         std::holds_alternative<RunWarned>(event.body) ||
         std::holds_alternative<CheckpointSealed>(event.body);
}

std::optional<Occasion> OccasionOf(const Event& event, const Run& run) {
  if (const auto* ended = std::get_if<RunEnded>(&event.body)) {
    if (ended->state == RunState::kSucceeded) return Occasion::kFinished;
    if (ended->state == RunState::kFailed) return Occasion::kFailed;
  } else if (const auto* failed = std::get_if<RankFailed>(&event.body)) {
    if (failed->cause == ExitCause::kStalled) return Occasion::kStalled;
    if (failed->cause == ExitCause::kDiverged) return Occasion::kDiverged;
  } else if (const auto* warned = std::get_if<RunWarned>(&event.body)) {
    if (warned->text.starts_with(contract::kDivergedPrefix)) return Occasion::kDiverged;
  } else if (const auto* sealed = std::get_if<CheckpointSealed>(&event.body)) {
    if (IsNewBest(*sealed, run)) return Occasion::kNewBest;
  }
  return std::nullopt;
}

}  // namespace gp::coordinator

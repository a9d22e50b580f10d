#include "coordinator/state/event.h"

#include <array>

namespace gp::coordinator {
namespace {

// In the order of EventBody.
constexpr std::array<std::string_view, std::variant_size_v<EventBody>> kKinds = {
    "submitted",
    "queued",
    "placed",
    "group_ready",
    "started",
    "rank_failed",
    "cancel_requested",
    "checkpoint_sealed",
    "checkpoint_retired",
    "finishing",
    "ended",
    "warned",
    "checkpoint_verified",
    "checkpoint_damaged",
    "checkpoint_restored",
    "requeued",
    "draining",
    "reconfigured",
    "joiner_placed",
    "joiner_left",
    "resized",
    "pause_requested",
    "paused",
    "resumed",
    "leg_requested",
    "leg_begun",
    "deleted",
    "checkpoint_pinned",
    "checkpoints_pruned",
    "annotated",
    "node_cordoned",
    "node_uncordoned",
    "sweep_submitted",
    "sweep_cancelled",
    "sweep_ended",
    "node_connected",
    "node_disconnected",
    "node_reported",
    "checkpoint_read",
    "waiting",
    "tick"};
constexpr size_t kDurableCount = 35;
static_assert(std::is_same_v<std::variant_alternative_t<kDurableCount - 1, EventBody>, SweepEnded>);

}  // namespace

bool IsDurable(const Event& event) { return event.body.index() < kDurableCount; }

NodeId NodeOf(const Event& event) {
  return std::visit(
      [](const auto& body) {
        if constexpr (requires { body.node; }) return body.node;
        return NodeId();
      },
      event.body);
}

std::string_view Kind(const Event& event) { return kKinds[event.body.index()]; }

}  // namespace gp::coordinator

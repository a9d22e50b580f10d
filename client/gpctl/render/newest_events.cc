#include "client/gpctl/render/newest_events.h"

#include <fmt/format.h>

namespace gp::gpctl {

void NewestEvents::Add(const v1::RunEvent& event) {
  if (event.kind() == "checkpoint_retired") return;
  seals_ = event.kind() == "checkpoint_sealed" ? seals_ + 1 : 0;
  if (seals_ > 1) events_.pop_back();
  events_.push_back(event);
  if (seals_ > 1) {
    events_.back().set_reason(
        fmt::format("{} checkpoints sealed, the newest: {}", seals_, event.reason()));
  }
  if (events_.size() > events_max_) events_.pop_front();
}

}  // namespace gp::gpctl

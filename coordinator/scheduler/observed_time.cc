#include "coordinator/scheduler/observed_time.h"

#include <algorithm>
#include <utility>

namespace gp::coordinator {

std::chrono::nanoseconds ObservedTime::Note(const Now& now) {
  if (!first_) first_ = now.instant;
  const std::optional<Now> last = std::exchange(newest_, now);
  if (!last) return std::chrono::nanoseconds(0);
  if (now.wall < last->wall) ForgetAfter(now.wall);
  const std::chrono::nanoseconds jump = (now.wall - last->wall) - (now.instant - last->instant);
  if (jump < kJumpMin) return std::chrono::nanoseconds(0);
  jumps_.push_back(
      {now.wall - std::chrono::duration_cast<std::chrono::microseconds>(jump), now.wall});
  // Merging counts what was between the two as skipped, too: an age gets smaller, never larger.
  if (jumps_.size() > kJumpsMax) {
    jumps_[1].from = jumps_[0].from;
    jumps_.erase(jumps_.begin());
  }
  return jump;
}

std::chrono::nanoseconds ObservedTime::Since(Timestamp then) const {
  std::chrono::nanoseconds passed = now() - then;
  for (const Jump& jump : jumps_) {
    const Timestamp from = std::max(jump.from, then);
    if (from < jump.to) passed -= jump.to - from;
  }
  return passed;
}

std::chrono::nanoseconds ObservedTime::watched() const {
  return first_ ? newest_->instant - *first_ : std::chrono::nanoseconds(0);
}

void ObservedTime::ForgetAfter(Timestamp wall) {
  std::erase_if(jumps_, [wall](const Jump& jump) { return jump.from >= wall; });
  for (Jump& jump : jumps_) jump.to = std::min(jump.to, wall);
}

}  // namespace gp::coordinator

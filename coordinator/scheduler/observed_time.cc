#include "coordinator/scheduler/observed_time.h"

#include <algorithm>
#include <utility>

namespace gp::coordinator {

using std::chrono::microseconds;

microseconds ObservedTime::Note(const Now& now) {
  if (!first_) first_ = now.instant;
  const std::optional<Now> last = std::exchange(newest_, now);
  if (!last) return microseconds(0);
  const auto passed = std::chrono::duration_cast<microseconds>(now.instant - last->instant);
  const microseconds jump = now.wall - last->wall - passed;
  if (jump <= -kJumpMin) TakeBack(-jump);
  if (jump < kJumpMin) return microseconds(0);
  jumps_.push_back({now.wall - jump, now.wall});
  // Merging counts what was between the two as skipped, too: an age gets smaller, never larger.
  if (jumps_.size() > kJumpsMax) {
    jumps_[1].from = jumps_[0].from;
    jumps_.erase(jumps_.begin());
  }
  return jump;
}

microseconds ObservedTime::Since(Timestamp then) const {
  microseconds passed = now() - then;
  for (const Jump& jump : jumps_) {
    const Timestamp from = std::max(jump.from, then);
    if (from < jump.to) passed -= jump.to - from;
  }
  return passed;
}

std::chrono::nanoseconds ObservedTime::watched() const {
  return first_ ? newest_->instant - *first_ : std::chrono::nanoseconds(0);
}

void ObservedTime::TakeBack(microseconds back) {
  while (!jumps_.empty() && back.count() > 0) {
    Jump& newest = jumps_.back();
    const microseconds taken = std::min(back, newest.to - newest.from);
    newest.to -= taken;
    back -= taken;
    if (newest.to == newest.from) jumps_.pop_back();
  }
}

}  // namespace gp::coordinator

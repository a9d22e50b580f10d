// ObservedTime: how long ago something was, by the wall clock, but without the time by which that
// clock was set forward while this object watched both clocks. So an age never grows by a wrong
// setting of the clock. In microseconds, because a clock that is far ahead shows times for which
// nanoseconds overflow. A value.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "coordinator/state/time.h"

namespace gp::coordinator {

class ObservedTime {
 public:
  // Notes the time. Returns by how much the wall clock was set forward since the last call; 0 when
  // it was not, or by less than kJumpMin.
  std::chrono::microseconds Note(const Now& now);

  // The wall clock at the last Note. REQUIRES: there was one.
  Timestamp now() const { return newest_->wall; }
  // From `then` to the last Note; negative if `then` is later.
  std::chrono::microseconds Since(Timestamp then) const;
  // From the first Note to the last, by the monotonic clock.
  std::chrono::nanoseconds watched() const;

 private:
  // Less is not taken for a jump: the two clocks are not read at the same instant, and NTP slews.
  static constexpr std::chrono::seconds kJumpMin{10};
  static constexpr size_t kJumpsMax = 64;

  // What the wall clock skipped.
  struct Jump {
    Timestamp from;
    Timestamp to;
  };

  // The wall clock was set back, so it has skipped so much less.
  void TakeBack(std::chrono::microseconds back);

  std::optional<Instant> first_;
  std::optional<Now> newest_;
  std::vector<Jump> jumps_;
};

}  // namespace gp::coordinator

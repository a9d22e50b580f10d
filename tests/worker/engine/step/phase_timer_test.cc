#include "worker/engine/step/phase_timer.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

// A clock that advances only when a test says so.
class HandClock final : public Clock {
 public:
  MonotonicTime Now() const override { return now; }
  WallTime WallNow() const override { return WallTime(); }
  MonotonicTime now;
};

TEST(PhaseTimer, PhasesAreDisjointAndAddUpToTheStep) {
  HandClock clock;
  PhaseTimer timer(clock);
  clock.now += std::chrono::milliseconds(250);
  timer.Lap(&contract::StepPhases::forward);
  clock.now += std::chrono::milliseconds(500);
  timer.Lap(&contract::StepPhases::backward);
  clock.now += std::chrono::milliseconds(125);
  timer.Lap(&contract::StepPhases::forward);
  EXPECT_EQ(timer.phases().forward, 0.375);
  EXPECT_EQ(timer.phases().backward, 0.5);
  EXPECT_EQ(timer.phases().optimizer, 0.0);
  EXPECT_EQ(timer.seconds(), 0.875);
}

}  // namespace
}  // namespace gp::engine

// Goal: on a device, the phases are the intervals between marks, an update counts as part of the
// next step, and the time between steps counts as part of none.
#include "worker/engine/step/step_timer.h"

#include <gtest/gtest.h>

#include <map>

#include "worker/engine/fakes/detached_backend.h"

namespace gp::engine {
namespace {

// A device whose clock advances only when a test says so.
class MarkedBackend final : public DetachedBackend {
 public:
  MarkedBackend() : DetachedBackend({}) {}
  void Mark(int slot) override { marks_[slot] = now_ms; }
  double MillisecondsBetween(int first, int second) override {
    return marks_.at(second) - marks_.at(first);
  }

  double now_ms = 0;

 private:
  std::map<int, double> marks_;
};

TEST(StepTimer, OnADeviceCountsTheUpdateWithTheNextStepAndGapsWithNone) {
  MarkedBackend backend;
  StepTimer timer(SystemClock(), backend);
  timer.Begin();
  backend.now_ms += 30;
  timer.Lap(&contract::StepPhases::forward);
  backend.now_ms += 60;
  timer.Lap(&contract::StepPhases::backward);
  timer.Close();
  backend.now_ms += 10;
  timer.Lap(&contract::StepPhases::optimizer);
  timer.ReadMarks();
  EXPECT_DOUBLE_EQ(timer.phases().forward, 0.030);
  EXPECT_DOUBLE_EQ(timer.phases().backward, 0.060);
  EXPECT_DOUBLE_EQ(timer.phases().optimizer, 0);
  EXPECT_DOUBLE_EQ(timer.seconds(), 0.090);
  backend.now_ms += 5000;  // simulates an evaluation
  timer.Begin();
  backend.now_ms += 20;
  timer.Lap(&contract::StepPhases::forward);
  timer.Close();
  timer.ReadMarks();
  EXPECT_DOUBLE_EQ(timer.phases().optimizer, 0.010);
  EXPECT_DOUBLE_EQ(timer.phases().forward, 0.020);
  EXPECT_DOUBLE_EQ(timer.seconds(), 0.030);
}

TEST(StepTimer, NeverOverwritesAMarkThatIsStillNeeded) {
  MarkedBackend backend;
  StepTimer timer(SystemClock(), backend);
  for (int step = 1; step < 6; ++step) {
    timer.Begin();
    for (int i = 0; i < step; ++i) {
      backend.now_ms += 1;
      timer.Lap(&contract::StepPhases::forward);
    }
    timer.Close();
    backend.now_ms += 7;
    timer.Lap(&contract::StepPhases::optimizer);
    timer.ReadMarks();
    EXPECT_NEAR(timer.phases().forward, step * 1e-3, 1e-12);
    EXPECT_NEAR(timer.phases().optimizer, step > 1 ? 7e-3 : 0, 1e-12);
  }
}

}  // namespace
}  // namespace gp::engine

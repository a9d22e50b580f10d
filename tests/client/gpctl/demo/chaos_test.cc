#include "client/gpctl/demo/chaos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kBegin = 1000;  // seconds since 1970

v1::Run TrainingRun(uint64_t epoch) {
  v1::Run run;
  run.set_state(v1::RUN_STATE_RUNNING);
  run.set_epoch(epoch);
  run.mutable_progress()->set_step(40);
  run.mutable_progress()->set_target_steps(100);
  return run;
}

v1::MetricPoint Point(int64_t step, uint64_t epoch, double at) {
  v1::MetricPoint point;
  point.set_step(step);
  point.set_epoch(epoch);
  point.mutable_at()->set_seconds(static_cast<int64_t>(at));
  point.mutable_at()->set_nanos(static_cast<int>((at - std::floor(at)) * 1e9));
  return point;
}

v1::RunEvent Event(const std::string& kind, uint64_t epoch, const std::string& reason) {
  v1::RunEvent event;
  event.set_kind(kind);
  event.set_epoch(epoch);
  event.set_reason(reason);
  return event;
}

// Stands for a trainer of this process, or for the coordinator.
class Victim {
 public:
  Victim() : pid_(fork()) {
    if (pid_ != 0) return;
    pause();
    _exit(0);
  }
  ~Victim() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  int pid() const { return pid_; }
  bool IsStopped() const { return Changed(WSTOPPED); }
  bool IsKilled() const { return Changed(WEXITED); }

 private:
  bool Changed(int how) const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, how | WNOWAIT) == 0 && info.si_pid == pid_;
  }

  const pid_t pid_;
};

TEST(Chaos, StrikesOneAfterTheOtherOnceTheRunGoesOn) {
  const Victim coordinator;
  ServiceRecord service;
  service.worker.pid = getpid();
  Chaos chaos(100);
  EXPECT_EQ(chaos.Strike(service, TrainingRun(1), kBegin), "");
  EXPECT_EQ(chaos.Strike(service, TrainingRun(1), kBegin + 19), "");
  const Victim first;
  EXPECT_THAT(chaos.Strike(service, TrainingRun(1), kBegin + 20), StartsWith("killed a worker"));
  EXPECT_TRUE(first.IsKilled());
  EXPECT_EQ(chaos.Strike(service, TrainingRun(1), kBegin + 50), "") << "it has not gone on yet";
  const Victim second;
  EXPECT_THAT(chaos.Strike(service, TrainingRun(2), kBegin + 50), StartsWith("paused a worker"));
  EXPECT_TRUE(second.IsStopped());
  EXPECT_EQ(chaos.Strike(service, TrainingRun(3), kBegin + 60), "") << "there is no coordinator";
  service.coordinator = *IdentifyProcess(coordinator.pid());
  EXPECT_THAT(chaos.Strike(service, TrainingRun(3), kBegin + 60),
              StartsWith("killed the coordinator"));
  EXPECT_TRUE(coordinator.IsKilled());
  EXPECT_EQ(chaos.Strike(service, TrainingRun(3), kBegin + 90), "");
}

TEST(Chaos, SaysHowLongEachFaultTookAndWhatWasLost) {
  ServiceRecord service;
  service.worker.pid = getpid();
  Chaos chaos(100);
  const Victim victim;
  chaos.Strike(service, TrainingRun(1), kBegin);
  chaos.Strike(service, TrainingRun(1), kBegin + 20);
  const std::string text = chaos.Report(
      TrainingRun(2),
      {Point(1, 1, kBegin + 1), Point(2, 1, kBegin + 19.5), Point(3, 2, kBegin + 20.25)},
      {Event("placed", 1, "starting"),
       Event("reconfigured", 2, "rank 3: killed; the run goes on with 3 of 4 ranks since step 2")});
  EXPECT_THAT(text, HasSubstr("after  20s  killed a worker (process "));
  EXPECT_THAT(text, HasSubstr("next step after 250 ms; the run goes on with 3 of 4 ranks since "
                              "step 2\n"));
  EXPECT_THAT(text, HasSubstr("the run ended before every fault was injected\n"));
  EXPECT_THAT(text, HasSubstr("0 of 40 steps are missing; 0 steps taken again from a checkpoint; "
                              "2 groups of ranks\n"));
}

}  // namespace
}  // namespace gp::gpctl

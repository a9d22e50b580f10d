// Goal: the right rank is blamed, the pause before a retry has the right length, and after a
// coordinator restart a starting run gets its full time limit again.
#include "coordinator/scheduler/recovery.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

// Run "r" with two ranks on node "n", as a coordinator finds it after a replay: in epoch 2, placed
// for the second time.
class Recovery : public ::testing::Test {
 protected:
  Recovery() {
    const std::vector<Event> life = OneOfEachKind();
    for (size_t i = 0; i < 5; ++i) Do(life[i]);
    Do({.body = Tick{kStart}});
    NodeConnected hello;
    hello.node = NodeId("n");
    hello.name = "n";
    hello.session = 1;
    Do({.body = hello});
  }

  void Do(const Event& event) {
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }

  // The node reports at `after_start` how its two ranks ended; kUnspecified means that the rank is
  // alive.
  void Report(std::chrono::nanoseconds after_start, ExitCause first, ExitCause second) {
    cluster_.now = kStart + after_start;
    NodeReported report{NodeId("n"), 1, cluster_.last_sequence, {}, {}};
    for (const ExitCause cause : {first, second}) {
      const int rank = static_cast<int>(report.ranks.size());
      report.ranks.push_back({.run = kSampleRun, .epoch = 2, .rank = rank});
      const bool alive = cause == ExitCause::kUnspecified;
      report.ranks.back().phase = alive ? RankPhase::kStarting : RankPhase::kExited;
      report.ranks.back().cause = cause;
    }
    Do({.body = report});
  }

  RunValue run() const { return *cluster_.FindRun(kSampleRun); }

  std::optional<RankFailed> Failure(const RunValue& run) const {
    const auto action = FindFailure(cluster_, run, Policy(), {cluster_.now, At(0)});
    if (!action) return std::nullopt;
    return std::get<RankFailed>(action->event);
  }
  std::optional<RankFailed> Failure() const { return Failure(run()); }

  static constexpr Instant kStart{seconds(100'000)};
  static constexpr auto kAlive = ExitCause::kUnspecified;
  Cluster cluster_;
};

TEST_F(Recovery, AfterARestartAStartingRunGetsAFullTerm) {
  const auto term = Policy().start_timeout;
  Report(term, kAlive, kAlive);
  EXPECT_FALSE(Failure().has_value());
  Report(term + seconds(1), kAlive, kAlive);
  ASSERT_TRUE(Failure().has_value());
  EXPECT_NE(Failure()->message.find("not every rank was ready within 900 s"), std::string::npos);
}

TEST_F(Recovery, TheCertainCulpritIsBlamedBeforeTheProbableOneAndThatBeforeTheMessenger) {
  Report(seconds(1), ExitCause::kSignal, ExitCause::kConfig);
  EXPECT_EQ(Failure()->rank, 1);
  EXPECT_FALSE(Failure()->retry) << "a mistake in the configuration";
  Report(seconds(1), ExitCause::kCollective, ExitCause::kSignal);
  EXPECT_EQ(Failure()->rank, 1);
  Report(seconds(1), ExitCause::kSignal, ExitCause::kSignal);
  EXPECT_EQ(Failure()->rank, 0) << "the first of equals";
}

TEST_F(Recovery, AMessengerWaitsForThePeersOwnReport) {
  Report(seconds(1), ExitCause::kCollective, kAlive);
  EXPECT_FALSE(Failure().has_value());
  Report(seconds(1) + Policy().blame_delay, ExitCause::kCollective, kAlive);
  ASSERT_TRUE(Failure().has_value());
  EXPECT_EQ(Failure()->rank, 0);
}

// The sample run pauses 0.5 s after the first failure and at most 30 s, and is tried 4 times.
TEST_F(Recovery, ThePauseDoublesWithEveryFailureSinceTheNewestCheckpoint) {
  Report(seconds(1), ExitCause::kSignal, kAlive);
  const auto pause = [this](int failures_since_seal) {
    RunValue run = this->run();
    run.failures = 50;
    run.failures_since_seal = failures_since_seal;
    const auto failure = Failure(run);
    return failure->retry ? failure->retry_at - At(0) : milliseconds(-1);
  };
  EXPECT_EQ(pause(0), milliseconds(500));
  EXPECT_EQ(pause(1), milliseconds(1000));
  EXPECT_EQ(pause(3), milliseconds(4000));
  EXPECT_EQ(pause(4), milliseconds(-1)) << "retries.max is 4";
}

TEST_F(Recovery, AModelThatWasDeletedWithItsRunIsNotWaitedFor) {
  Report(seconds(1), ExitCause::kData, kAlive);
  RunValue run = this->run();
  run.checkpoints.clear();
  Submission submission = *run.submission;
  submission.data_seen = true;
  submission.resolved = "init_from: /srv/gp/runs/base/checkpoints/step-1\n";
  run.submission = std::make_shared<const Submission>(submission);
  EXPECT_TRUE(Failure(run)->retry) << "data that was there may come back";
  RunValue base = run;
  base.id = RunId("base");
  cluster_.Set(base);
  cluster_.Delete(base, {.id = base.id, .name = "base", .run_directory = "/srv/gp/runs/base"});
  EXPECT_FALSE(Failure(run)->retry);
  run.checkpoints.push_back({{.step = 10, .directory = "/d"}});
  EXPECT_TRUE(Failure(run)->retry) << "it resumes from its own checkpoint";
}

}  // namespace
}  // namespace gp::coordinator

// Goal: when all ranks of a group wait for each other, one of them is named; nobody is while any of
// them may go on.
#include "coordinator/scheduler/stall.h"

#include <gtest/gtest.h>

#include <vector>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Run "r" with two ranks on node "n", in epoch 2, whose group is complete.
class Stall : public ::testing::Test {
 protected:
  Stall() {
    const std::vector<Event> life = OneOfEachKind();
    for (size_t i = 0; i < 5; ++i) Do(life[i]);
    Do({.body = Tick{kStart}});
    NodeConnected hello;
    hello.node = NodeId("n");
    hello.name = "node-n";
    hello.session = 1;
    Do({.body = hello});
    auto run = *cluster_.FindRun(kSampleRun);
    run.group = Group{.addresses = {"h:1", "h:2"}};
    cluster_.Set(std::move(run));
  }

  void Do(const Event& event) {
    const Status status = Apply(event, cluster_);
    ASSERT_TRUE(status.ok()) << Kind(event) << ": " << status;
  }

  void Report(const std::vector<std::optional<RankProgress>>& progress,
              ExitCause first = ExitCause::kUnspecified) {
    NodeReported report{NodeId("n"), 1, cluster_.last_sequence, {}, {}};
    for (const auto& one : progress) {
      const int rank = static_cast<int>(report.ranks.size());
      report.ranks.push_back({.run = kSampleRun, .epoch = 2, .rank = rank});
      report.ranks.back().phase = RankPhase::kRunning;
      report.ranks.back().progress = one;
    }
    if (first != ExitCause::kUnspecified) {
      report.ranks.front().phase = RankPhase::kExited;
      report.ranks.front().cause = first;
    }
    Do({.body = report});
  }

  static RankProgress Awaits(int peer, milliseconds still) {
    return {.phase = "all-reduce",
            .awaits_peer = true,
            .peer = peer,
            .still = still,
            .limit = seconds(2)};
  }

  std::optional<StalledRank> Find() const {
    return FindStalledRank(cluster_, *cluster_.FindRun(kSampleRun));
  }

  static constexpr Instant kStart{seconds(100'000)};
  Cluster cluster_;
};

TEST_F(Stall, OfRanksThatWaitForEachOtherTheLastOneToArriveIsNamed) {
  Report({Awaits(1, seconds(3)), Awaits(0, milliseconds(2100))});
  const auto stalled = Find();
  ASSERT_TRUE(stalled.has_value());
  EXPECT_EQ(stalled->rank, 1);
  EXPECT_EQ(stalled->message,
            "its peers do not reach its process on node node-n: every rank has waited for another "
            "one, in phase all-reduce, for 2.1 s (limit 2.0 s)");
}

TEST_F(Stall, NobodyIsNamedWhileARankWorksOrHasTime) {
  Report({Awaits(1, seconds(3)), Awaits(0, milliseconds(1999))});
  EXPECT_FALSE(Find().has_value());
  RankProgress works = Awaits(0, seconds(50));
  works.awaits_peer = false;
  Report({Awaits(1, seconds(3)), works});
  EXPECT_FALSE(Find().has_value());
  Report({Awaits(1, seconds(3)), std::nullopt});
  EXPECT_FALSE(Find().has_value()) << "an agent of an older version";
}

TEST_F(Stall, AnOldReportSaysNothingAboutNow) {
  Report({Awaits(1, seconds(3)), Awaits(0, seconds(3))});
  EXPECT_TRUE(Find().has_value());
  cluster_.now += seconds(3);
  EXPECT_FALSE(Find().has_value());
}

TEST_F(Stall, ARankWhosePeersHaveCompletedIsNamed) {
  Report({std::nullopt, Awaits(0, seconds(3))}, ExitCause::kCompleted);
  ASSERT_TRUE(Find().has_value());
  EXPECT_EQ(Find()->rank, 1);
}

TEST_F(Stall, AFailureIsReportedAsItself) {
  Report({std::nullopt, Awaits(0, seconds(3))}, ExitCause::kSignal);
  EXPECT_FALSE(Find().has_value());
}

}  // namespace
}  // namespace gp::coordinator

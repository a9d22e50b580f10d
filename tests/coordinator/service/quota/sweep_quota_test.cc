// Goal: sweeps that are submitted at the same time do not exceed a user's quota together.
#include "coordinator/service/quota/sweep_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "coordinator/sample_sweep.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

std::function<std::shared_ptr<const Cluster>()> Snapshot(const Cluster& cluster) {
  return [&cluster] { return std::make_shared<const Cluster>(cluster); };
}

TEST(SweepQuota, CountsTheTrialsAtATimeOfSweepsThatHaveNotEnded) {
  Cluster cluster;
  SweepQuota quota({.runs = 5, .waiting = 9});
  ASSERT_TRUE(Apply(SubmitOf(FourTrials()), cluster).ok());  // 2 at a time
  SweepSpec wide = FourTrials();
  wide.name = "wide";
  wide.max_parallel = 100;  // but it has 4 trials
  const Status refused = quota.Reserve(Snapshot(cluster), "user alice", wide).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(refused),
              HasSubstr("would run 6 trials at a time, and may run 5 (limits.runs"));
  EXPECT_TRUE(quota.Reserve(Snapshot(cluster), "user bob", wide).ok());
  ASSERT_TRUE(
      Apply({.body = SweepEnded{FourTrials().id(), SweepState::kFailed, "x"}}, cluster).ok());
  EXPECT_TRUE(quota.Reserve(Snapshot(cluster), "user alice", wide).ok());
}

TEST(SweepQuota, ParallelSubmitsAreCountedExactly) {
  const Cluster cluster;
  SweepQuota quota({.runs = 6, .waiting = 6});
  std::vector<StatusOr<std::shared_ptr<SweepQuota::Place>>> places(8, Unavailable("not asked"));
  std::vector<std::thread> threads;
  for (auto& place : places) {
    threads.emplace_back(
        [&] { place = quota.Reserve(Snapshot(cluster), "user alice", FourTrials()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::ranges::count_if(places, [](const auto& place) { return place.ok(); }), 3);
  places.clear();
  EXPECT_TRUE(quota.Reserve(Snapshot(cluster), "user alice", FourTrials()).ok())
      << "places were given back";
}

}  // namespace
}  // namespace gp::coordinator

// A stop is detected while the main thread does something else.
#include "worker/trainer/supervisor_link.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace gp::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

class SupervisorLinkTest : public testing::Test {
 protected:
  SupervisorLinkTest() {
    auto ends = link::Channel::MakePair();
    EXPECT_TRUE(ends.ok()) << ends.status();
    supervisor_.emplace(std::move(ends->first), "trainer");
    channel_.emplace(std::move(ends->second), "supervisor");
    link_.emplace(*channel_);
  }

  void Stop(std::optional<int64_t> save_within_ms) {
    EXPECT_TRUE(supervisor_->Send(link::Stop{"cancelled", save_within_ms}).ok());
  }

  std::optional<link::Channel> supervisor_;
  std::optional<link::Channel> channel_;
  std::optional<SupervisorLink> link_;
};

TEST_F(SupervisorLinkTest, WhoLostAPeerHearsOfAStopThatIsOnItsWay) {
  EXPECT_FALSE(link_->LeavesWithin(milliseconds(0), Leaving::kSaving));
  std::jthread stopping([&] { Stop(std::nullopt); });
  EXPECT_TRUE(link_->LeavesWithin(minutes(1), Leaving::kSaving));
  EXPECT_TRUE(link_->LeavesWithin(milliseconds(0), Leaving::kAtOnce));
  EXPECT_EQ(link_->stop_reason(), "cancelled");
}

TEST_F(SupervisorLinkTest, AStopWithTimeToSaveBreaksNothingOffUntilHalfOfItIsOver) {
  link_->BeginSteps();
  Stop(1'000'000'000);
  ASSERT_TRUE(link_->LeavesWithin(minutes(1), Leaving::kSaving));
  EXPECT_FALSE(link_->stop_token().stop_requested());
  EXPECT_FALSE(link_->LeavesWithin(milliseconds(0), Leaving::kAtOnce));
  Stop(1'000'000'000);
  EXPECT_TRUE(link_->LeavesWithin(minutes(1), Leaving::kAtOnce)) << "the second one means at once";
  EXPECT_TRUE(link_->stop_token().stop_requested());
}

// systemd signals the agent and its trainers, so the agent's Stop arrives in addition to the
// signal.
TEST_F(SupervisorLinkTest, ASignalAndAStopAreNoSecondStop) {
  link_->BeginSteps();
  link_->RequestStop(StopAsker::kSignal, "SIGTERM", milliseconds(1'000'000'000));
  Stop(1'000'000'000);
  EXPECT_FALSE(link_->LeavesWithin(milliseconds(100), Leaving::kAtOnce));
  EXPECT_TRUE(link_->LeavesWithin(milliseconds(0), Leaving::kSaving));
  EXPECT_EQ(link_->stop_reason(), "SIGTERM");
  Stop(1'000'000'000);
  EXPECT_TRUE(link_->LeavesWithin(minutes(1), Leaving::kAtOnce));
}

// When a job's time is up, Slurm signals all its processes, and again some time later.
TEST_F(SupervisorLinkTest, ASecondSignalLeavesTheSaveAlone) {
  link_->BeginSteps();
  for (int i = 0; i < 2; ++i) {
    link_->RequestStop(StopAsker::kSignal, "SIGTERM", milliseconds(1'000'000'000));
  }
  EXPECT_FALSE(link_->LeavesWithin(milliseconds(100), Leaving::kAtOnce));
  EXPECT_TRUE(link_->LeavesWithin(milliseconds(0), Leaving::kSaving));
  EXPECT_FALSE(link_->stop_token().stop_requested());
}

TEST_F(SupervisorLinkTest, TheShorterTimeOfASignalAndAStopCounts) {
  link_->BeginSteps();
  link_->RequestStop(StopAsker::kSignal, "SIGTERM", milliseconds(1'000'000'000));
  Stop(1);
  EXPECT_TRUE(link_->LeavesWithin(minutes(1), Leaving::kAtOnce));
}

TEST_F(SupervisorLinkTest, WhenTheTimeToSaveIsOverItLeavesAtOnce) {
  link_->BeginSteps();
  Stop(1);
  EXPECT_TRUE(link_->LeavesWithin(minutes(1), Leaving::kAtOnce));
  EXPECT_TRUE(link_->stop_token().stop_requested());
}

TEST_F(SupervisorLinkTest, BeforeTheFirstStepThereIsNothingToSave) {
  Stop(1'000'000'000);
  EXPECT_TRUE(link_->LeavesWithin(minutes(1), Leaving::kAtOnce));
  EXPECT_FALSE(link_->Next().has_value());
}

}  // namespace
}  // namespace gp::engine

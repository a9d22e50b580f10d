#include "coordinator/announcer.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

class CountingListener final : public ChangeListener {
 public:
  void OnChange() override { ++count; }
  int count = 0;
};

class AnnouncerTest : public ::testing::Test {
 protected:
  std::shared_ptr<CountingListener> ListenTo(const ChangeHub::Topic& topic) {
    auto listener = std::make_shared<CountingListener>();
    hub_.Subscribe(topic, listener);
    return listener;
  }

  FakeClock clock_;  // never advances, so nothing happens without a notification
  ChangeHub hub_{clock_};
  CoordinatorMetrics metrics_{"test", clock_, Policy()};
  LocalStorage files_;
  RunDirectories directories_{files_};
  CheckpointVerifier verifier_{files_};
  Announcer announcer_{hub_, metrics_, directories_, verifier_};
};

TEST_F(AnnouncerTest, ANewReasonAloneIsToldToTheWatchersOfTheRunAtOnce) {
  const auto watcher = ListenTo(RunId("a"));
  const auto other = ListenTo(RunId("b"));
  const auto agent = ListenTo(NodeId("n"));
  announcer_.OnBatch({.cluster = std::make_shared<const Cluster>(), .runs = {RunId("a")}});
  hub_.RunOnce(seconds(0));
  EXPECT_EQ(watcher->count, 1);
  EXPECT_EQ(other->count, 0);
  EXPECT_EQ(agent->count, 0);
}

TEST_F(AnnouncerTest, AReportWakesTheStreamOfItsOwnAgentAlone) {
  const auto agent = ListenTo(NodeId("n"));
  const auto other_agent = ListenTo(NodeId("m"));
  const auto watcher = ListenTo(RunId("a"));
  announcer_.OnBatch({.cluster = std::make_shared<const Cluster>(), .nodes = {NodeId("n")}});
  hub_.RunOnce(seconds(0));
  EXPECT_EQ(agent->count, 1);
  EXPECT_EQ(other_agent->count, 0);
  EXPECT_EQ(watcher->count, 0);
}

TEST_F(AnnouncerTest, RecordsAreToldToTheWatchersOfTheirRun) {
  const auto watcher = ListenTo(RunId("a"));
  const auto other = ListenTo(RunId("b"));
  announcer_.OnRecorded(RunId("a"), Progress());
  hub_.RunOnce(seconds(0));
  EXPECT_EQ(watcher->count, 1);
  EXPECT_EQ(other->count, 0);
}

}  // namespace
}  // namespace gp::coordinator

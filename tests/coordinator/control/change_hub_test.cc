#include "coordinator/control/change_hub.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "lib/base/eventually.h"

namespace gp::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CountingListener final : public ChangeListener {
 public:
  void OnChange() override {
    MutexLock lock(mutex_);
    ++count_;
    changed_.NotifyAll();
  }
  int count() {
    MutexLock lock(mutex_);
    return count_;
  }
  bool Wait() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    MutexLock lock(mutex_);
    while (count_ == 0) {
      if (!changed_.WaitUntil(mutex_, deadline)) return false;
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ GUARDED_BY(mutex_) = 0;
};

class ChangeHubTest : public ::testing::Test {
 protected:
  std::shared_ptr<CountingListener> ListenTo(const ChangeHub::Topic& topic) {
    auto listener = std::make_shared<CountingListener>();
    hub_.Subscribe(topic, listener);
    return listener;
  }
  // Does not wait, because there is something to notify.
  void Turn() { hub_.RunOnce(seconds(0)); }

  FakeClock clock_;
  ChangeHub hub_{clock_, seconds(1)};
};

TEST_F(ChangeHubTest, WakesThoseWhoListenToTheTopicAndNobodyElse) {
  const auto run = ListenTo(RunId("a"));
  const auto other_run = ListenTo(RunId("b"));
  const auto node_of_that_name = ListenTo(NodeId("a"));
  hub_.Notify(RunId("a"));
  hub_.Notify(RunId("nobody listens"));
  Turn();
  EXPECT_EQ(run->count(), 1);
  EXPECT_EQ(other_run->count(), 0);
  EXPECT_EQ(node_of_that_name->count(), 0);
}

TEST_F(ChangeHubTest, TellsOnceWhatChangedManyTimes) {
  const auto listener = ListenTo(NodeId("n"));
  for (int i = 0; i < 5; ++i) hub_.Notify(NodeId("n"));
  Turn();
  Turn();
  EXPECT_EQ(listener->count(), 1);
}

TEST_F(ChangeHubTest, ForgetsWhoIsGone) {
  auto gone = ListenTo(RunId("a"));
  const auto stays = ListenTo(RunId("a"));
  gone.reset();
  hub_.Notify(RunId("a"));
  Turn();
  EXPECT_EQ(stays->count(), 1);
}

TEST_F(ChangeHubTest, NewsOfOthersDoNotPutOffTheMomentWhenEverybodyLooks) {
  const auto quiet = ListenTo(RunId("quiet"));
  const auto busy = ListenTo(NodeId("busy"));
  for (int reports = 1; reports <= 6; ++reports) {
    clock_.Advance(milliseconds(400));
    hub_.Notify(NodeId("busy"));
    Turn();
    EXPECT_EQ(busy->count(), reports);
    EXPECT_EQ(quiet->count(), reports * 400 / 1200) << "after " << reports << " reports";
  }
}

TEST(ChangeHub, TellsOnAThreadOfItsOwnUntilItIsStopped) {
  ChangeHub hub(SystemClock(), std::chrono::hours(1));
  const auto listener = std::make_shared<CountingListener>();
  hub.Subscribe(RunId("a"), listener);
  hub.Start();
  hub.Notify(RunId("a"));
  EXPECT_TRUE(listener->Wait());
  hub.Stop();
}

TEST(ChangeHub, LetsEverybodyLookWithoutNews) {
  ChangeHub hub(SystemClock(), milliseconds(1));
  const auto listener = std::make_shared<CountingListener>();
  hub.Subscribe(RunId("a"), listener);
  hub.Start();
  EXPECT_TRUE(listener->Wait());
}

}  // namespace
}  // namespace gp::coordinator

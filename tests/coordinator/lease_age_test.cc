#include <gtest/gtest.h>

#include "coordinator/control/reconciler.h"
#include "coordinator/control/replay.h"
#include "coordinator/scheduler/liveness.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "fakes/fake_clock.h"

namespace gp::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class NoObserver final : public BatchObserver {
 public:
  void OnBatch(const PublishedBatch& /*batch*/) override {}
};

// A Reconciler whose turns the test triggers, with one node that sent a hello and nothing since.
class LeaseAge : public ::testing::Test {
 protected:
  void SetUp() override {
    NodeConnected hello;
    hello.node = NodeId("n");
    hello.name = "n";
    reconciler_.Post({.body = hello});
    reconciler_.RunOnce(seconds(0));
  }

  // Lets this time pass, with a turn every 0.5 s.
  void Pass(milliseconds duration) {
    for (; duration > milliseconds(0); duration -= milliseconds(500)) {
      clock_.Advance(milliseconds(500));
      reconciler_.RunOnce(seconds(0));
    }
  }

  bool IsLostNow() {
    // Submit a run, because a turn without changes does not publish the cluster.
    const std::string run = "r" + std::to_string(++runs_);
    reconciler_.Request(SampleSubmit(run, run), [](const StatusOr<Admission>&) {});
    reconciler_.RunOnce(seconds(0));
    return IsLost(*reconciler_.snapshot(), NodeId("n"), Policy{.lease = seconds(10)});
  }

  FakeClock clock_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
  NoObserver observer_;
  nanoseconds unread_{0};
  int runs_ = 0;
  ReconcilerOptions options_{.unread = [this] { return unread_; }};
  Reconciler reconciler_{store_, clock_, observer_, *ReplayStore(store_), options_};
};

TEST_F(LeaseAge, ANodeThatIsSilentForLongerThanItsLeaseIsLost) {
  Pass(seconds(10));
  EXPECT_FALSE(IsLostNow());
  Pass(milliseconds(500));
  EXPECT_TRUE(IsLostNow());
}

TEST_F(LeaseAge, NobodyIsLostWhileTheServerIsTooBusyToRead) {
  unread_ = milliseconds(1500);
  Pass(seconds(60));
  EXPECT_FALSE(IsLostNow());
}

TEST_F(LeaseAge, EveryLeaseHasAFullTermOnceTheServerReadsAgain) {
  Pass(seconds(9));
  unread_ = milliseconds(1500);
  Pass(milliseconds(500));
  unread_ = milliseconds(200);
  Pass(seconds(10));
  EXPECT_FALSE(IsLostNow());
  Pass(milliseconds(500));
  EXPECT_TRUE(IsLostNow());
}

TEST_F(LeaseAge, AServerThatReadsALittleLateStillTellsWhoIsLost) {
  unread_ = milliseconds(900);
  Pass(milliseconds(10'500));
  EXPECT_TRUE(IsLostNow());
}

}  // namespace
}  // namespace gp::coordinator

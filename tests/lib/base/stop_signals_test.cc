#include "base/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/mailbox.h"
#include "lib/base/eventually.h"

namespace gp {
namespace {

// Restores the signal settings of the test's thread.
class StopSignalsTest : public ::testing::Test {
 protected:
  StopSignalsTest() { pthread_sigmask(SIG_BLOCK, nullptr, &before_); }
  ~StopSignalsTest() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  std::function<void(const std::string&)> Note() {
    return [this](const std::string& name) { names_.Post(name, kPatience); };
  }

  Mailbox<std::string> names_{8};

 private:
  sigset_t before_;
};

bool IsBlocked(int number) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, number) == 1;
}

TEST_F(StopSignalsTest, OnlyTheNamedOnesAreBlocked) {
  BlockStopSignals();
  EXPECT_TRUE(IsBlocked(SIGTERM));
  EXPECT_TRUE(IsBlocked(SIGINT));
  EXPECT_FALSE(IsBlocked(SIGHUP));
  BlockStopSignals({SIGHUP});
  EXPECT_TRUE(IsBlocked(SIGHUP));
}

TEST_F(StopSignalsTest, WhoWaitsIsToldWhichOneArrived) {
  BlockStopSignals();
  kill(getpid(), SIGTERM);
  EXPECT_EQ(AwaitStopSignal(), "SIGTERM");
  kill(getpid(), SIGINT);
  EXPECT_EQ(AwaitStopSignal(), "SIGINT");
}

TEST_F(StopSignalsTest, EveryArrivalIsACall) {
  BlockStopSignals();
  const StopSignals signals(Note());
  for (const int number : {SIGTERM, SIGTERM, SIGINT}) {
    kill(getpid(), number);
    EXPECT_EQ(names_.Receive(kPatience), number == SIGTERM ? "SIGTERM" : "SIGINT");
  }
}

TEST_F(StopSignalsTest, OneThatArrivedBeforeIsNotLost) {
  BlockStopSignals();
  kill(getpid(), SIGTERM);
  const StopSignals signals(Note());
  EXPECT_EQ(names_.Receive(kPatience), "SIGTERM");
}

TEST_F(StopSignalsTest, AProgramMayChooseItsOwn) {
  BlockStopSignals({SIGHUP});
  const StopSignals signals(Note(), {SIGHUP});
  kill(getpid(), SIGHUP);
  EXPECT_EQ(names_.Receive(kPatience), "SIGHUP");
}

TEST_F(StopSignalsTest, EndsWithoutASignal) {
  BlockStopSignals();
  for (int round = 0; round < 100; ++round) const StopSignals signals(Note());
}

}  // namespace
}  // namespace gp

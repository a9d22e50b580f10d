#include "coordinator/service/work_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "coordinator/service/gate.h"

namespace gp::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kPatience{60};

// What was done with each piece of work, in order.
class Journal {
 public:
  void Add(const std::string& entry) {
    MutexLock lock(mutex_);
    entries_.push_back(entry);
    changed_.NotifyAll();
  }
  // The entries, once there are at least `count`.
  std::vector<std::string> Await(size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    MutexLock lock(mutex_);
    while (entries_.size() < count) {
      if (!changed_.WaitUntil(mutex_, deadline)) break;
    }
    return entries_;
  }
  std::vector<std::string> entries() { return Await(0); }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> entries_ GUARDED_BY(mutex_);
};

class Entry final : public Work {
 public:
  Entry(std::string name, Journal& done, Journal& refused)
      : name_(std::move(name)), done_(done), refused_(refused) {}
  void Run() override { done_.Add(name_); }
  void Refuse(const Status& why) override { refused_.Add(name_ + ": " + Message(why)); }

 private:
  const std::string name_;
  Journal& done_;
  Journal& refused_;
};

class Passage final : public Work {
 public:
  explicit Passage(Gate& gate) : gate_(gate) {}
  void Run() override { gate_.Pass(); }
  void Refuse(const Status& /*why*/) override {}

 private:
  Gate& gate_;
};

// A pool with one thread, which a test can block.
class WorkPoolTest : public ::testing::Test {
 protected:
  void HoldUp() {
    gate_.Close();
    pool_.Post("holder", std::make_shared<Passage>(gate_));
    gate_.AwaitArrived(1);
  }
  std::shared_ptr<Work> Post(const std::string& caller, const std::string& name) {
    auto work = std::make_shared<Entry>(name, done_, refused_);
    pool_.Post(caller, work);
    return work;
  }
  void TearDown() override { gate_.Open(); }

  Gate gate_;
  Journal done_;
  Journal refused_;
  WorkPool pool_{{.name = "tests", .threads = 1, .waiting_max = 5, .waiting_per_caller_max = 4}};
};

TEST_F(WorkPoolTest, ACallerWaitsForOnePieceOfAnothersWorkAndNoMore) {
  HoldUp();
  for (const char* name : {"a1", "a2", "a3"}) Post("a", name);
  Post("b", "b1");
  gate_.Open();
  EXPECT_THAT(done_.Await(4), ElementsAre("a1", "b1", "a2", "a3"));
}

TEST_F(WorkPoolTest, ACallerThatAsksForTooMuchIsRefusedInWords) {
  HoldUp();
  for (const char* name : {"a1", "a2", "a3", "a4", "a5"}) Post("a", name);
  EXPECT_THAT(refused_.entries(), ElementsAre(HasSubstr("a5: 4 requests of this connection")));
  gate_.Open();
  EXPECT_THAT(done_.Await(4), ElementsAre("a1", "a2", "a3", "a4"));
}

TEST_F(WorkPoolTest, WhenItIsFullWhoeverAsksForMostMakesRoomForTheOthers) {
  HoldUp();
  for (const char* name : {"a1", "a2", "a3", "a4"}) Post("a", name);
  Post("b", "b1");
  Post("c", "c1");
  EXPECT_THAT(refused_.entries(), ElementsAre(HasSubstr("a4: the coordinator is busy")));
  gate_.Open();
  EXPECT_THAT(done_.Await(5), ElementsAre("a1", "b1", "c1", "a2", "a3"));
}

TEST_F(WorkPoolTest, WhenItIsFullOfEqualsWhoeverComesLastStaysOut) {
  HoldUp();
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) Post(name, name);
  EXPECT_THAT(refused_.entries(), ElementsAre(HasSubstr("f: the coordinator is busy")));
}

TEST_F(WorkPoolTest, WorkThatIsWithdrawnIsNotStarted) {
  HoldUp();
  const auto first = Post("a", "a1");
  Post("a", "a2");
  const auto only = Post("b", "b1");
  EXPECT_EQ(pool_.waiting(), 3u);
  EXPECT_TRUE(pool_.Withdraw("a", *first));
  EXPECT_TRUE(pool_.Withdraw("b", *only));
  EXPECT_FALSE(pool_.Withdraw("b", *only));
  EXPECT_EQ(pool_.waiting(), 1u);
  gate_.Open();
  EXPECT_THAT(done_.Await(1), ElementsAre("a2"));
  EXPECT_THAT(refused_.entries(), IsEmpty());
}

TEST_F(WorkPoolTest, AStopRefusesWhatWaitsAndSaysWhetherWorkIsHeldUp) {
  HoldUp();
  Post("a", "a1");
  EXPECT_FALSE(pool_.Stop(std::chrono::seconds(0)));
  Post("a", "a2");
  EXPECT_THAT(refused_.entries(),
              ElementsAre("a1: the coordinator is stopping", "a2: the coordinator is stopping"));
  gate_.Open();
  EXPECT_TRUE(pool_.Stop(kPatience));
  EXPECT_THAT(done_.entries(), IsEmpty());
}

}  // namespace
}  // namespace gp::coordinator

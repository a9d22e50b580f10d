#include "coordinator/control/reconciler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "coordinator/control/replay.h"
#include "coordinator/state/assignment.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "fakes/fake_clock.h"
#include "lib/base/eventually.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

class Listener final : public BatchObserver {
 public:
  void OnBatch(const PublishedBatch& batch) override {
    last = batch;
    events.insert(events.end(), batch.events.begin(), batch.events.end());
  }

  PublishedBatch last;
  std::vector<StoredEvent> events;
};

// Calls `on_append` just before a batch is written.
class WatchedStore final : public Store {
 public:
  explicit WatchedStore(MemoryStore::Disk& disk) : store_(disk) {}

  uint64_t generation() const override { return store_.generation(); }
  StatusOr<uint64_t> Append(const std::vector<Event>& events) override {
    on_append();
    return store_.Append(events);
  }
  Status Load(const std::function<void(const StoredEvent&)>& visit) override {
    return store_.Load(visit);
  }
  StatusOr<std::vector<StoredEvent>> ReadRun(const RunId& run, uint64_t after, int limit) override {
    return store_.ReadRun(run, after, limit);
  }
  StatusOr<std::vector<EndedRun>> ListEnded(const RunQuery& query,
                                            const EndedRange& range) override {
    return store_.ListEnded(query, range);
  }

  std::function<void()> on_append;

 private:
  MemoryStore store_;
};

class ReconcilerTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open() {
    reconciler_.reset();
    store_ = std::make_unique<MemoryStore>(disk_);
    auto cluster = ReplayStore(*store_);
    ASSERT_TRUE(cluster.ok());
    reconciler_ = std::make_unique<Reconciler>(*store_, clock_, listener_, std::move(*cluster),
                                               ReconcilerOptions{});
  }

  void SetFull(bool full) {
    MutexLock lock(disk_.mutex);
    disk_.full = full;
  }

  // Stores the events as if an earlier coordinator had written them, then reopens the store.
  void Remember(const std::vector<Event>& events) {
    ASSERT_TRUE(MemoryStore(disk_).Append(events).ok());
    Open();
  }

  std::shared_ptr<const gp::coordinator::Run> Find(const std::string& run) {
    return reconciler_->snapshot()->FindRun(RunId(run));
  }

  // Posts a submit; the answer is added to `answers_` by a later Turn().
  void Submit(const std::string& run, const std::string& request_id,
              const std::string& digest = "abc") {
    Event event = SampleSubmit(run, request_id);
    std::get<RunSubmitted>(event.body).submission.body_digest = digest;
    reconciler_->Request(event, [this](const auto& answer) { answers_.push_back(answer); });
  }

  void Turn() { reconciler_->RunOnce(seconds(0)); }

  FakeClock clock_;
  MemoryStore::Disk disk_;
  Listener listener_;
  std::unique_ptr<MemoryStore> store_;
  std::vector<StatusOr<Admission>> answers_;
  std::unique_ptr<Reconciler> reconciler_;
};

TEST_F(ReconcilerTest, AnswersOnlyWhatIsDurableAndVisible) {
  Submit("a", "1");
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(reconciler_->snapshot()->FindRun(RunId("a")), nullptr);
  Turn();
  ASSERT_EQ(answers_.size(), 1u);
  ASSERT_TRUE(answers_[0].ok());
  EXPECT_NE(reconciler_->snapshot()->FindRun(RunId("a")), nullptr);
  Open();
  EXPECT_NE(reconciler_->snapshot()->FindRun(RunId("a")), nullptr);
}

TEST_F(ReconcilerTest, NothingIsShownToldOrAnsweredWhileItIsBeingWritten) {
  WatchedStore store(disk_);
  Reconciler reconciler(store, clock_, listener_, Cluster(), ReconcilerOptions{});
  int appends = 0;
  bool answered = false;
  store.on_append = [&] {
    ++appends;
    EXPECT_EQ(reconciler.snapshot()->FindRun(RunId("a")), nullptr);
    EXPECT_TRUE(listener_.events.empty());
    EXPECT_FALSE(answered);
  };
  reconciler.Request(SampleSubmit("a", "1"), [&](const auto& answer) {
    EXPECT_NE(reconciler.snapshot()->FindRun(RunId("a")), nullptr);
    EXPECT_FALSE(listener_.events.empty()) << "whoever is told first finds what was answered";
    answered = answer.ok();
  });
  reconciler.RunOnce(seconds(0));
  EXPECT_EQ(appends, 1);
  EXPECT_TRUE(answered);
}

TEST_F(ReconcilerTest, ARepeatedRequestInTheSameBatchMakesOneRun) {
  Submit("a", "1");
  Submit("b", "1");
  Submit("c", "1", "another body");
  Turn();
  ASSERT_EQ(answers_.size(), 3u);
  EXPECT_FALSE(answers_[0]->replayed);
  EXPECT_TRUE(answers_[1]->replayed);
  EXPECT_EQ(answers_[1]->run, RunId("a"));
  EXPECT_EQ(answers_[2].status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(reconciler_->snapshot()->runs.size(), 1u);
}

TEST_F(ReconcilerTest, ARequestIsRememberedAcrossARestart) {
  Submit("a", "1");
  Turn();
  Open();
  Submit("b", "1");
  Turn();
  EXPECT_TRUE(answers_.back()->replayed);
  EXPECT_EQ(answers_.back()->run, RunId("a"));
}

TEST_F(ReconcilerTest, AFullDiskRefusesRequestsHearsAgentsAndRecovers) {
  SetFull(true);
  Submit("a", "1");
  NodeConnected hello;
  hello.node = NodeId("n");
  hello.name = "n";
  reconciler_->Post({.body = hello});
  Turn();
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(reconciler_->snapshot()->runs.size(), 0u);
  EXPECT_NE(reconciler_->snapshot()->FindNode(NodeId("n")), nullptr);
  SetFull(false);
  Submit("a", "1");
  Turn();
  EXPECT_TRUE(answers_.back().ok());
  EXPECT_FALSE(answers_.back()->replayed);
}

TEST_F(ReconcilerTest, TellsObserversInOrderWithSequenceNumbers) {
  Submit("a", "1");
  Submit("b", "2");
  Turn();
  ASSERT_GE(listener_.events.size(), 2u);
  for (size_t i = 0; i < listener_.events.size(); ++i) {
    EXPECT_EQ(listener_.events[i].sequence, i + 1);
  }
  EXPECT_EQ(listener_.last.cluster, reconciler_->snapshot());
}

NodeConnected HelloOf(const std::string& name, int gpus) {
  NodeConnected hello;
  hello.node = NodeId(name);
  hello.session = 1;
  hello.name = name;
  for (int i = 0; i < gpus; ++i) {
    hello.slots.push_back({SlotId(std::to_string(i)), "GPU-" + std::to_string(i), {i}, 0});
  }
  return hello;
}

TEST_F(ReconcilerTest, ANewReasonConcernsItsRunAlone) {
  Submit("waits", "1");
  Turn();
  reconciler_->Post({.body = HelloOf("n", 1)});
  Turn();
  EXPECT_TRUE(listener_.last.events.empty());
  EXPECT_EQ(listener_.last.runs, std::set<RunId>{RunId("waits")});
  EXPECT_EQ(listener_.last.nodes, std::set<NodeId>{NodeId("n")});
}

TEST_F(ReconcilerTest, APlacementConcernsTheNodesOfItsRanksAndAReportItsOwnNode) {
  reconciler_->Post({.body = HelloOf("a", 1)});
  reconciler_->Post({.body = HelloOf("b", 1)});
  reconciler_->Post({.body = HelloOf("c", 0)});
  Turn();
  Submit("runs", "1");
  Turn();
  EXPECT_EQ(listener_.last.nodes, (std::set<NodeId>{NodeId("a"), NodeId("b")}));
  reconciler_->Post({.body = NodeReported{.node = NodeId("c"), .session = 1}});
  Turn();
  EXPECT_EQ(listener_.last.nodes, std::set<NodeId>{NodeId("c")});
  EXPECT_TRUE(listener_.last.runs.empty());
}

TEST_F(ReconcilerTest, WhatRank0ConnectsWithConcernsTheNodesOfItsGroupOnce) {
  reconciler_->Post({.body = HelloOf("a", 1)});
  reconciler_->Post({.body = HelloOf("b", 1)});
  Submit("runs", "1");
  Turn();
  RankReport leader{.run = RunId("runs"), .epoch = 1, .slot = SlotId("0")};
  leader.phase = RankPhase::kListening;
  leader.nccl_id = "id";
  const Event report{.body = NodeReported{.node = NodeId("a"), .session = 1, .ranks = {leader}}};
  reconciler_->Post(report);
  Turn();
  EXPECT_EQ(listener_.last.nodes, (std::set<NodeId>{NodeId("a"), NodeId("b")}));
  reconciler_->Post(report);
  Turn();
  EXPECT_EQ(listener_.last.nodes, std::set<NodeId>{NodeId("a")});
}

TEST_F(ReconcilerTest, AFloodOfSubmitsNeitherDropsNorDelaysWhatAgentsSay) {
  for (int i = 0; i < 5000; ++i) Submit(std::to_string(i), std::to_string(i));
  EXPECT_FALSE(answers_.empty()) << "the flood is larger than the lane";
  const size_t refused = answers_.size();
  ASSERT_TRUE(reconciler_->Post({.body = HelloOf("n", 0)}));
  ASSERT_TRUE(reconciler_->Post(
      {.body = NodeReported{.node = NodeId("n"), .session = 1, .applied_revision = 7}}));
  Turn();
  const auto node = reconciler_->snapshot()->FindNode(NodeId("n"));
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->applied_revision, 7u);
  EXPECT_GT(answers_.size(), refused) << "and requests are answered in the same turn";
}

TEST_F(ReconcilerTest, AFloodOfWhatAgentsSayDoesNotHoldUpRequests) {
  for (int i = 0; i < 5000; ++i) {
    reconciler_->Post({.body = NodeReported{.node = NodeId(std::to_string(i)), .session = 1}});
  }
  Submit("a", "1");
  Turn();
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_TRUE(answers_[0].ok());
}

TEST_F(ReconcilerTest, AgentsWarningsBecomeEvents) {
  Submit("a", "1");
  Turn();
  EXPECT_TRUE(reconciler_->Post({.run = RunId("a"), .body = RunWarned{0, 3, "look"}}));
  Turn();
  EXPECT_EQ(std::get<RunWarned>(listener_.events.back().event.body).text, "look");
  SetFull(true);
  EXPECT_TRUE(reconciler_->Post({.run = RunId("a"), .body = RunWarned{0, 4, "look"}}));
  Turn();
}

Event Placed(const std::string& run, Epoch epoch, const std::vector<std::string>& slots) {
  RunPlaced placed{.epoch = epoch, .reason = "it fits", .device = Device::kGpu};
  for (const std::string& slot : slots) {
    const int rank = static_cast<int>(placed.placement.size());
    placed.placement.push_back({rank, NodeId("n"), SlotId(slot)});
  }
  return {RunId(run), At(2), "scheduler", "", placed};
}
Event Queued(const std::string& run) {
  return {RunId(run), At(2), "scheduler", "", RunQueued{"it waits"}};
}

class SetAside : public ReconcilerTest {
 protected:
  // Expects that the run failed with this reason, also after a coordinator restart, and that other
  // runs are unaffected.
  void ExpectSetAside(const std::string& run, const std::string& why) {
    for (int time = 0; time < 2; ++time) {
      ASSERT_NE(Find(run), nullptr);
      EXPECT_EQ(Find(run)->state, RunState::kFailed);
      EXPECT_NE(Find(run)->reason.find("set aside"), std::string::npos) << Find(run)->reason;
      EXPECT_NE(Find(run)->reason.find(why), std::string::npos) << Find(run)->reason;
      EXPECT_FALSE(Find(run)->holds_slots);
      EXPECT_TRUE(AssignmentsOf(*reconciler_->snapshot(), NodeId("n")).empty());
      Submit("other" + std::to_string(time), "other" + std::to_string(time));
      const size_t told = listener_.events.size();
      Turn();
      ASSERT_FALSE(answers_.empty());
      EXPECT_TRUE(answers_.back().ok()) << answers_.back().status();
      for (size_t i = told; i < listener_.events.size(); ++i) {
        EXPECT_NE(listener_.events[i].event.run, RunId(run)) << "it is set aside once";
      }
      Open();
    }
  }
};

TEST_F(SetAside, ARunWhosePlanIsImpossible) {
  const Event failed{RunId("a"), At(3), "scheduler", "",
                     RankFailed{1, 0, ExitCause::kConfig, "hopeless", false}};
  // The run ran out of retries, which requires FAILED, and was cancelled, which rules out FAILED.
  Remember({SampleSubmit("a", "1"),
            Queued("a"),
            Placed("a", 1, {"0", "1"}),
            failed,
            {RunId("a"), At(4), "user", "", CancelRequested{}}});
  Turn();
  ExpectSetAside("a", "the plan is impossible");
}

TEST_F(SetAside, ARunWithARecordThatDoesNotFitAndWhatFollowsIt) {
  const Event started{RunId("a"), At(3), "scheduler", "", RunStarted{5}};
  Remember({SampleSubmit("a", "1"), started, Queued("a"), SampleSubmit("b", "2")});
  Turn();
  EXPECT_EQ(Find("b")->state, RunState::kQueued);
  ExpectSetAside("a", "store record 2");
}

TEST_F(SetAside, ARunWithAnIncompleteGangInTheStore) {
  Remember({SampleSubmit("a", "1"), Queued("a"), Placed("a", 1, {"0"})});
  Turn();
  const auto node = reconciler_->snapshot()->FindNode(NodeId("n"));
  EXPECT_TRUE(node->withdrawn.contains(SlotId("0"))) << "no slot is free before it is told";
  ExpectSetAside("a", "gang is not complete");
}

TEST_F(SetAside, ARunThatBreaksAnInvariantWhileOthersInTheTurnGoOn) {
  Submit("a", "1");
  Submit("b", "2");
  Turn();
  answers_.clear();
  reconciler_->Request(Placed("a", 1, {"0"}),
                       [this](const auto& answer) { answers_.push_back(answer); });
  Submit("c", "3");
  Turn();
  ASSERT_EQ(answers_.size(), 2u);
  EXPECT_FALSE(answers_[0].ok());
  EXPECT_TRUE(answers_[1].ok());
  EXPECT_EQ(Find("b")->state, RunState::kQueued);
  EXPECT_EQ(Find("c")->state, RunState::kQueued);
  ExpectSetAside("a", "gang is not complete");
}

TEST_F(SetAside, WhoeverTakesASlotThatIsHeld) {
  Remember({SampleSubmit("b", "2"), SampleSubmit("a", "1"), Queued("a"), Queued("b"),
            Placed("a", 1, {"0", "1"})});
  reconciler_->Request(Placed("b", 1, {"1", "2"}), [](const auto&) {});
  Turn();
  EXPECT_TRUE(Find("a")->holds_slots);
  EXPECT_EQ(Find("b")->state, RunState::kFailed);
  EXPECT_NE(Find("b")->reason.find("held by run 'a'"), std::string::npos) << Find("b")->reason;
}

TEST_F(SetAside, WaitsForAFullDisk) {
  Remember({SampleSubmit("a", "1"), Queued("a"), Placed("a", 1, {"0"})});
  SetFull(true);
  Turn();
  Turn();
  EXPECT_EQ(Find("a")->state, RunState::kStarting) << "nothing is shown that is not durable";
  SetFull(false);
  Turn();
  ExpectSetAside("a", "gang is not complete");
}

TEST_F(ReconcilerTest, RefusesWhatComesAfterItStopped) {
  reconciler_->Stop();
  Submit("a", "1");
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].status().code(), StatusCode::kUnavailable);
}

TEST_F(ReconcilerTest, ManyThreadsSubmitAndEachIsAnsweredOnce) {
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::atomic<int> answered{0};
  reconciler_->Start();
  {
    std::vector<std::jthread> users;
    for (int user = 0; user < kThreads; ++user) {
      users.emplace_back([&, user] {
        for (int i = 0; i < kEach; ++i) {
          const std::string name = std::to_string(user) + "-" + std::to_string(i);
          reconciler_->Request(SampleSubmit(name, name), [&](const auto& answer) {
            if (answer.ok()) ++answered;
          });
          (void)reconciler_->snapshot()->runs.size();
        }
      });
    }
  }
  EXPECT_TRUE(Eventually([&] { return answered == kThreads * kEach; })) << answered;
  reconciler_->Stop();
  EXPECT_EQ(reconciler_->snapshot()->runs.size(), static_cast<size_t>(kThreads * kEach));
}

}  // namespace
}  // namespace gp::coordinator

#include "coordinator/reconciler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "coordinator/replay.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "fakes/fake_clock.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

class Listener final : public BatchObserver {
 public:
  void OnBatch(const std::shared_ptr<const Cluster>& published,
               const std::vector<StoredEvent>& batch) override {
    cluster = published;
    events.insert(events.end(), batch.begin(), batch.end());
  }

  std::shared_ptr<const Cluster> cluster;
  std::vector<StoredEvent> events;
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

  // Posts a submit; its answer appears in `answers_` once a turn has been taken.
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
  std::unique_ptr<Reconciler> reconciler_;
  std::vector<StatusOr<Admission>> answers_;
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
  EXPECT_EQ(listener_.cluster, reconciler_->snapshot());
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
  const auto deadline = std::chrono::steady_clock::now() + seconds(20);
  while (answered < kThreads * kEach && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  reconciler_->Stop();
  EXPECT_EQ(answered, kThreads * kEach);
  EXPECT_EQ(reconciler_->snapshot()->runs.size(), static_cast<size_t>(kThreads * kEach));
}

}  // namespace
}  // namespace gp::coordinator

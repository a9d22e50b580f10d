// Uses real files and the real Reconciler; the runs' histories are made from events.
#include "coordinator/checkpoints/checkpoint_verifier.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "coordinator/checkpoints/run_directories.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"
#include "lib/formats/sample_checkpoint.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

constexpr int64_t kStep = 20;

// Waits until a published cluster meets a condition.
class Witness final : public BatchObserver {
 public:
  explicit Witness(CheckpointVerifier& verifier, RunDirectories& directories)
      : verifier_(verifier), directories_(directories) {}

  void OnBatch(const PublishedBatch& batch) override {
    directories_.Published(batch.cluster, batch.events);
    verifier_.Published(batch);
    MutexLock lock(mutex_);
    cluster_ = batch.cluster;
    changed_.NotifyAll();
  }

  bool Wait(const std::function<bool(const Cluster&)>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    MutexLock lock(mutex_);
    while (cluster_ == nullptr || !condition(*cluster_)) {
      if (!changed_.WaitUntil(mutex_, deadline)) return false;
    }
    return true;
  }

 private:
  CheckpointVerifier& verifier_;
  RunDirectories& directories_;
  Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<const Cluster> cluster_ GUARDED_BY(mutex_);
};

class CheckpointVerifierTest : public ::testing::Test {
 protected:
  void SetUp() override {
    digest_ = formats::WriteSampleCheckpoint(directory_, kStep);
    earlier_digest_ = formats::WriteSampleCheckpoint(earlier_, 10);
  }
  void TearDown() override {
    verifier_.Stop();
    if (reconciler_ != nullptr) reconciler_->Stop();
    directories_.Stop();
  }

  // Starts with a run that sealed two checkpoints and resumed from the later one. Its rank then
  // reports that one as damaged, or the events in `last` happen instead.
  void Begin(const std::vector<EventBody>& last = {RankFailed{2, 0, ExitCause::kDamagedCheckpoint,
                                                              "damaged", true, At(7),
                                                              NextReader::kCoordinator}}) {
    Cluster cluster;
    std::vector<Event> life = {SampleSubmit("r", "request-1")};
    Submission& submission = std::get<RunSubmitted>(life[0].body).submission;
    submission.run_directory = JoinPath(root_.path(), "r");
    submission.workers = 1;
    const std::vector<Placement> placement = {{0, NodeId("n"), SlotId("s")}};
    const auto add = [&](EventBody body) {
      life.push_back({RunId("r"), At(7), "scheduler", "", std::move(body)});
    };
    add(RunQueued{"waits"});
    add(RunPlaced{1, placement, "it fits", -1, 1, "", Device::kCpu});
    add(CheckpointSealed{1, {10, earlier_, earlier_digest_, 1, {}, false}});
    add(CheckpointSealed{1, {kStep, directory_, digest_, 1, {}, false}});
    add(RankFailed{1, 0, ExitCause::kSignal, "killed", true, At(7)});
    add(RunPlaced{2, placement, "it fits", kStep, 1, "", Device::kCpu});
    for (const EventBody& body : last) add(body);
    ASSERT_TRUE(store_.Append(life).ok());
    for (const Event& event : life) ASSERT_TRUE(Apply(event, cluster).ok()) << Kind(event);
    reconciler_ = std::make_unique<Reconciler>(store_, SystemClock(), witness_, std::move(cluster),
                                               ReconcilerOptions{});
    verifier_.Start(*reconciler_);
    reconciler_->Start();
  }

  bool WaitForRun(const std::function<bool(const RunValue&)>& condition) {
    return witness_.Wait([&](const Cluster& cluster) {
      const auto run = cluster.FindRun(RunId("r"));
      return run != nullptr && condition(*run);
    });
  }
  bool WaitUntilQuarantined() {
    return WaitForRun([](const RunValue& run) { return run.FindQuarantined(kStep) != nullptr; });
  }

  Status Restore(const std::string& request = "restore-1") {
    std::promise<Status> answer;
    verifier_.Restore(RunId("r"), kStep, {"user alice", request},
                      [&](const Status& status) { answer.set_value(status); });
    return answer.get_future().get();
  }

  // Eventually: another thread creates and deletes the mark.
  bool IsMarked() {
    return Eventually([&] { return FileExists(formats::QuarantineMark(directory_)); });
  }
  bool IsUnmarked() {
    return Eventually([&] { return !FileExists(formats::QuarantineMark(directory_)); });
  }

  std::string File(const char* name) const { return JoinPath(directory_, name); }

  TemporaryDirectory root_;
  const std::string directory_ = JoinPath(root_.path(), "r/checkpoints/step-00000020-e1-abc");
  const std::string earlier_ = JoinPath(root_.path(), "r/checkpoints/step-00000010-e1-abc");
  std::string digest_;
  std::string earlier_digest_;
  MemoryStore::Disk disk_;
  MemoryStore store_{disk_};
  const LocalStorage storage_;
  RunDirectories directories_{storage_};
  CheckpointVerifier verifier_{storage_};
  Witness witness_{verifier_, directories_};
  std::unique_ptr<Reconciler> reconciler_;
};

// Begin starts from stored events, like a restarted coordinator, so this also tests that a read
// requested before a restart is done after it.
TEST_F(CheckpointVerifierTest, AWholeCheckpointStaysWhateverARankSaid) {
  Begin();
  EXPECT_TRUE(
      WaitForRun([](const RunValue& run) { return run.suspicion && run.suspicion->whole; }));
  EXPECT_NE(reconciler_->snapshot()->FindRun(RunId("r"))->FindCheckpoint(kStep), nullptr);
  EXPECT_TRUE(FileExists(directory_));
}

TEST_F(CheckpointVerifierTest, ADamagedOneGoesIntoQuarantineAndKeepsItsFiles) {
  formats::DamageFile(File(formats::kOptimizerName));
  Begin();
  ASSERT_TRUE(WaitUntilQuarantined());
  const auto run = reconciler_->snapshot()->FindRun(RunId("r"));
  EXPECT_EQ(run->FindCheckpoint(kStep), nullptr);
  EXPECT_EQ(run->LatestCheckpoint()->step, 10);
  EXPECT_NE(run->FindQuarantined(kStep)->reason.find(formats::kOptimizerName), std::string::npos);
  EXPECT_TRUE(IsMarked());
  EXPECT_TRUE(FileExists(File(formats::kModelName)));
  EXPECT_TRUE(FileExists(earlier_));
}

TEST_F(CheckpointVerifierTest, OneThatAnotherRunCouldNotBeginFromIsReadAndGoesIntoQuarantine) {
  Begin({RankFailed{2, 0, ExitCause::kSignal, "killed", false, At(7)},
         RunEnded{RunState::kFailed, "ended"}});
  ASSERT_TRUE(WriteFileAtomically(File("model.safetensors"), "damage").ok());
  const auto fail = [&](const std::string& run, const std::string& model) {
    Event submit = SampleSubmit(run, run);
    Submission& submission = std::get<RunSubmitted>(submit.body).submission;
    submission.name = run;
    submission.parent_run.clear();
    submission.workers = 1;
    submission.resolved = "init_from: " + model + "\n";
    submission.run_directory = JoinPath(root_.path(), run);
    reconciler_->Request(submit, [](const StatusOr<Admission>&) {});
    EXPECT_TRUE(witness_.Wait(
        [&](const Cluster& cluster) { return cluster.FindRun(RunId(run)) != nullptr; }));
    for (const EventBody& body : std::vector<EventBody>{
             RunPlaced{1, {{0, NodeId("n"), SlotId(run)}}, "it fits", -1, 1, "", Device::kCpu},
             RankFailed{1, 0, ExitCause::kConfig, "a digest differs", false, At(7)}}) {
      EXPECT_TRUE(reconciler_->Post({RunId(run), At(7), "scheduler", "", body}));
    }
  };
  fail("whole", earlier_);
  fail("child", directory_);
  ASSERT_TRUE(WaitUntilQuarantined());
  const auto run = reconciler_->snapshot()->FindRun(RunId("r"));
  EXPECT_NE(run->FindQuarantined(kStep)->reason.find("run 'child' could not begin from"),
            std::string::npos)
      << run->FindQuarantined(kStep)->reason;
  EXPECT_EQ(run->LatestCheckpoint()->step, 10) << "an intact one stays";
  EXPECT_TRUE(IsMarked());
}

TEST_F(CheckpointVerifierTest, OneThatIsGoneIsDamagedWhereItsSiblingsAreSeen) {
  ASSERT_TRUE(RemoveTree(directory_).ok());
  Begin();
  EXPECT_TRUE(WaitUntilQuarantined());
}

TEST_F(CheckpointVerifierTest, AStorageThatIsGoneSaysNothingAboutTheCheckpoint) {
  ASSERT_TRUE(RemoveTree(JoinPath(root_.path(), "r/checkpoints")).ok());
  Begin();
  EXPECT_TRUE(WaitForRun([](const RunValue& run) {
    return run.suspicion && run.suspicion->verdict &&
           run.suspicion->verdict->first == Verdict::kUnreadable;
  }));
  EXPECT_NE(reconciler_->snapshot()->FindRun(RunId("r"))->FindCheckpoint(kStep), nullptr);
}

TEST_F(CheckpointVerifierTest, WhatIsWholeAfterAllComesBackFromQuarantineAndOnlyThen) {
  formats::DamageFile(File(formats::kModelName));
  Begin();
  ASSERT_TRUE(WaitUntilQuarantined());
  ASSERT_TRUE(IsMarked());
  EXPECT_EQ(Restore().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(IsMarked());
  // Flipping the same byte again restores the original content.
  formats::DamageFile(File(formats::kModelName));
  const Status restored = Restore();
  EXPECT_TRUE(restored.ok()) << restored;
  const auto run = reconciler_->snapshot()->FindRun(RunId("r"));
  ASSERT_NE(run->FindCheckpoint(kStep), nullptr);
  EXPECT_EQ(run->LatestCheckpoint()->step, kStep);
  EXPECT_TRUE(formats::VerifyDigests(LocalStorage(), directory_, digest_).ok());
  EXPECT_TRUE(IsUnmarked());
  EXPECT_TRUE(Restore().ok()) << "the answer to this request was lost";
  EXPECT_EQ(Restore("restore-2").code(), StatusCode::kFailedPrecondition) << "it is there";
  const auto events = store_.ReadRun(RunId("r"), 0, 100);
  ASSERT_TRUE(events.ok()) << events.status();
  const Event& last = events->back().event;
  ASSERT_EQ(Kind(last), "checkpoint_restored");
  EXPECT_EQ(last.actor, "user alice");
  EXPECT_EQ(last.request_id, "restore-1");
}

TEST_F(CheckpointVerifierTest, ALostOneComesBackOnceItsDirectoryIsThereAgain) {
  const std::string elsewhere = JoinPath(root_.path(), "elsewhere");
  std::filesystem::rename(directory_, elsewhere);
  Begin({CheckpointDamaged{kStep, "its directory is gone", true},
         RankFailed{2, 0, ExitCause::kSignal, "killed", true, At(7)}});
  ASSERT_TRUE(WaitUntilQuarantined());
  EXPECT_EQ(Restore().code(), StatusCode::kNotFound);
  std::filesystem::rename(elsewhere, directory_);
  formats::DamageFile(File(formats::kModelName));
  EXPECT_EQ(Restore().code(), StatusCode::kDataLoss);
  formats::DamageFile(File(formats::kModelName));
  const Status restored = Restore();
  EXPECT_TRUE(restored.ok()) << restored;
  EXPECT_EQ(reconciler_->snapshot()->FindRun(RunId("r"))->LatestCheckpoint()->step, kStep);
  EXPECT_TRUE(formats::VerifyDigests(LocalStorage(), directory_, digest_).ok());
}

TEST_F(CheckpointVerifierTest, AFullStoreRefusesTheReturnAndItStaysInQuarantine) {
  formats::DamageFile(File(formats::kModelName));
  Begin();
  ASSERT_TRUE(WaitUntilQuarantined());
  ASSERT_TRUE(IsMarked());
  formats::DamageFile(File(formats::kModelName));
  {
    MutexLock lock(disk_.mutex);
    disk_.full = true;
  }
  EXPECT_EQ(Restore().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(reconciler_->snapshot()->FindRun(RunId("r"))->FindQuarantined(kStep), nullptr);
  EXPECT_TRUE(IsMarked());
}

// The callbacks run on the verifier's thread, so what they ask for is queued.
TEST_F(CheckpointVerifierTest, AnotherRequestIsRefusedWhileARepeatedOneStillWaits) {
  formats::DamageFile(File(formats::kModelName));
  Begin();
  ASSERT_TRUE(WaitUntilQuarantined());
  std::promise<Status> other, last;
  const auto ask = [&](const std::string& request, CheckpointVerifier::Done done) {
    verifier_.Restore(RunId("r"), kStep, {"user", request}, std::move(done));
  };
  const auto ask_another = [&](const Status&) {
    ask("two", [&](const Status& status) { other.set_value(status); });
  };
  ask("one", [&](const Status&) {
    ask("one", ask_another);
    ask("one", [&](const Status& status) { last.set_value(status); });
  });
  EXPECT_EQ(other.get_future().get().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(last.get_future().get().code(), StatusCode::kDataLoss);
  EXPECT_EQ(Restore("three").code(), StatusCode::kDataLoss) << "none waits any more";
}

TEST_F(CheckpointVerifierTest, RefusesWhatComesAfterItStopped) {
  Begin();
  verifier_.Stop();
  EXPECT_EQ(Restore().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace gp::coordinator

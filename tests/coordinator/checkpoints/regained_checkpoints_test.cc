#include "coordinator/checkpoints/regained_checkpoints.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "coordinator/state/cluster.h"
#include "coordinator/state/start_description.h"
#include "coordinator/store/memory_store.h"
#include "coordinator/store/sample_events.h"
#include "lib/base/temporary_directory.h"
#include "lib/formats/sample_checkpoint.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using RunValue = Run;  // in a TEST, `Run` means testing::Test::Run

class RegainedCheckpoints : public ::testing::Test {
 protected:
  RegainedCheckpoints() {
    Event submit = SampleSubmit("r", "request-1");
    Submission& submission = std::get<RunSubmitted>(submit.body).submission;
    submission.run_directory = root_.path();
    submission.workers = 1;
    submission.target_tokens = 0;
    Do(submit);
    Do(RunQueued{"waits"});
  }

  void Place(Epoch epoch) {
    Do(RunPlaced{epoch, {{0, NodeId("n"), SlotId("s")}}, "it fits", -1, 1, "", Device::kCpu});
  }
  void Start(Epoch epoch) {
    Place(epoch);
    Do(RunGroupReady{epoch, {"h:1"}, "nonce", "avx2", {}});
    Do(RunStarted{epoch});
  }
  void Seal(Epoch epoch, int64_t step) { Do(CheckpointSealed{epoch, Written(step)}); }

  void Do(EventBody body) { Do(Event{RunId("r"), At(7), "scheduler", "", std::move(body)}); }
  void Do(const Event& event) {
    const Status applied = Apply(event, cluster_);
    ASSERT_TRUE(applied.ok()) << applied;
  }

  // Applies the events that Regain returns, then returns the run.
  const RunValue& Regained(const std::vector<UnlistedCheckpoint>& unlisted) {
    const auto run = cluster_.FindRun(RunId("r"));
    for (const Event& event : Regain(*run, unlisted, CheckListed(LocalStorage(), *run), At(9)))
      Do(event);
    return run_();
  }
  const RunValue& run_() { return *(held_ = cluster_.FindRun(RunId("r"))); }

  std::string Path(int64_t step) const {
    return JoinPath(root_.path(), fmt::format("checkpoints/step-{:08}-e1-a", step));
  }
  contract::WrittenCheckpoint Written(int64_t step) const {
    return {.step = step, .directory = Path(step)};
  }
  void WriteToDisk(int64_t step) const { formats::WriteSampleCheckpoint(Path(step), step); }

  void SetEpoch(int64_t step, Epoch epoch) const {
    auto manifest = formats::ReadManifest(LocalStorage(), Path(step));
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    manifest->epoch = epoch;
    const std::string path = JoinPath(Path(step), formats::kManifestName);
    ASSERT_TRUE(WriteFileAtomically(path, formats::FormatManifest(*manifest)).ok());
  }

  const TemporaryDirectory root_;
  Cluster cluster_;
  std::shared_ptr<const RunValue> held_;
};

TEST_F(RegainedCheckpoints, OfRanksThatTheBackupKnowsAreSealedAndTheRanksGoOn) {
  Start(1);
  Seal(1, 10);
  WriteToDisk(10);
  const RunValue& run = Regained({{1, Written(20)}, {1, Written(30)}});
  EXPECT_EQ(run.state, RunState::kRunning);
  EXPECT_EQ(run.epoch, 1u);
  EXPECT_TRUE(run.holds_slots);
  EXPECT_EQ(run.LatestCheckpoint()->step, 30);
}

TEST_F(RegainedCheckpoints, OfALaterEpochBringTheRunToThatEpochAndBackIntoTheQueue) {
  Start(1);
  Seal(1, 10);
  const RunValue& run = Regained({{4, Written(20)}});
  EXPECT_EQ(run.state, RunState::kQueued);
  EXPECT_EQ(run.epoch, 4u);
  EXPECT_FALSE(run.holds_slots);
  EXPECT_EQ(run.LatestCheckpoint()->step, 20);
  EXPECT_EQ(run.failures, 0);
}

TEST_F(RegainedCheckpoints, OfARunThatWaitedAreSealedByAnEpochOfItsOwn) {
  Start(1);
  Do(RankFailed{1, 0, ExitCause::kSignal, "killed", true, At(99)});
  const RunValue& run = Regained({{1, Written(20)}});
  EXPECT_EQ(run.state, RunState::kQueued);
  EXPECT_EQ(run.epoch, 2u);
  EXPECT_EQ(run.LatestCheckpoint()->step, 20);
}

TEST_F(RegainedCheckpoints, ARunThatEndsOrWasNeverPlacedGetsNone) {
  EXPECT_EQ(Regained({{1, Written(20)}}).checkpoints.size(), 0u);
  Start(1);
  Do(CancelRequested{});
  EXPECT_EQ(Regained({{1, Written(20)}}).checkpoints.size(), 0u);
}

TEST_F(RegainedCheckpoints, ARunThatLostAllBeginsAnewAndSavesTheSameStepsAgain) {
  Start(1);
  for (const int64_t step : {10, 20}) Seal(1, step);
  const RunValue& run = Regained({});
  EXPECT_EQ(run.LatestCheckpoint(), nullptr);
  EXPECT_EQ(run.quarantined.size(), 2u) << "they come back with the storage";
  Seal(1, 10);
  EXPECT_EQ(run_().LatestCheckpoint()->step, 10);
}

TEST_F(RegainedCheckpoints, ThoseThatWereRemovedSinceLeaveTheCatalogue) {
  Start(1);
  for (const int64_t step : {10, 20}) Seal(1, step);
  WriteToDisk(20);
  EXPECT_EQ(CheckListed(LocalStorage(), run_()).gone, std::vector<int64_t>{10});
  const RunValue& run = Regained({});
  EXPECT_EQ(run.FindCheckpoint(10), nullptr);
  EXPECT_EQ(run.LatestCheckpoint()->step, 20);
  EXPECT_TRUE(CheckListed(LocalStorage(), run).gone.empty());
}

TEST_F(RegainedCheckpoints, ThoseThatAnEarlierLegLeftBehindLeaveTheCatalogueAndComeBackThere) {
  Start(1);
  for (const int64_t step : {10, 20}) {
    Seal(1, step);
    WriteToDisk(step);
  }
  Do(RunRequeued{1, "the node was drained"});
  Do(LegRequested{*run_().submission, 10, "restarted from step 10"});
  ASSERT_EQ(run_().superseded.size(), 1u);
  ASSERT_TRUE(RemoveTree(Path(20)).ok());
  EXPECT_TRUE(Regained({}).superseded.empty());
  ASSERT_NE(run_().FindQuarantined(20), nullptr);
  EXPECT_TRUE(run_().FindQuarantined(20)->lost);
  EXPECT_EQ(run_().LatestCheckpoint()->step, 10);
  Do(CheckpointRestored{20});
  EXPECT_EQ(run_().superseded.size(), 1u);
  EXPECT_EQ(run_().LatestCheckpoint()->step, 10) << "the run does not build on it";
}

TEST_F(RegainedCheckpoints, OneInQuarantineThatALegLeavesBehindComesBackAsSuperseded) {
  Start(1);
  for (const int64_t step : {10, 20}) {
    Seal(1, step);
    WriteToDisk(step);
  }
  ASSERT_TRUE(RemoveTree(Path(20)).ok());
  Regained({});
  Do(RunRequeued{1, "the node was drained"});
  Do(LegRequested{*run_().submission, 10, "restarted from step 10"});
  Do(CheckpointRestored{20});
  EXPECT_EQ(run_().LatestCheckpoint()->step, 10);
  EXPECT_EQ(run_().superseded.size(), 1u);
}

// A listed checkpoint of an ended run can be sampled, exported and used as a start, so one that no
// longer exists must not be listed.
TEST_F(RegainedCheckpoints, AnEndedRunDoesNotListThoseThatAreGone) {
  Start(1);
  for (const int64_t step : {10, 20}) Seal(1, step);
  WriteToDisk(20);
  Do(RunFinishing{1});
  Do(RunEnded{RunState::kSucceeded, "all steps are done"});
  MemoryStore::Disk disk;
  MemoryStore store(disk);
  ASSERT_TRUE(LoseGone(LocalStorage(), cluster_, store, At(9)).ok());
  EXPECT_EQ(run_().FindCheckpoint(10), nullptr);
  EXPECT_EQ(run_().LatestCheckpoint()->step, 20);
  EXPECT_EQ(run_().state, RunState::kSucceeded);
  int lost = 0;
  const Status loaded = store.Load([&](const StoredEvent& stored) {
    lost += std::holds_alternative<CheckpointDamaged>(stored.event.body) ? 1 : 0;
  });
  ASSERT_TRUE(loaded.ok()) << loaded;
  EXPECT_EQ(lost, 1);
}

TEST_F(RegainedCheckpoints, ARunThatLostAllSaysSoWhenItIsPlacedAgain) {
  Start(1);
  Seal(1, 10);
  Do(RunRequeued{1, "the node was drained"});
  MemoryStore::Disk disk;
  MemoryStore store(disk);
  ASSERT_TRUE(LoseGone(LocalStorage(), cluster_, store, At(9)).ok());
  EXPECT_EQ(DescribeStart(run_(), cluster_),
            "from scratch again (its checkpoints are gone from the storage)");
}

// A symlink to itself stands for a checkpoint that cannot be examined, for example because of its
// permissions or a disk error.
TEST_F(RegainedCheckpoints, ThoseThatCannotBeReadStayAndAreToldOf) {
  Start(1);
  for (const int64_t step : {10, 20}) Seal(1, step);
  WriteToDisk(10);
  const std::string manifest = JoinPath(Path(10), formats::kManifestName);
  ASSERT_TRUE(RemoveTree(manifest).ok());
  ASSERT_EQ(symlink(manifest.c_str(), manifest.c_str()), 0);
  ASSERT_EQ(symlink(Path(20).c_str(), Path(20).c_str()), 0);
  const ListedCheckpoints listed = CheckListed(LocalStorage(), run_());
  EXPECT_TRUE(listed.gone.empty());
  ASSERT_EQ(listed.unreadable.size(), 2u);
  EXPECT_EQ(listed.unreadable[0].step, 10);
  EXPECT_EQ(listed.unreadable[1].step, 20);
  EXPECT_NE(listed.unreadable[1].why.find("Too many levels"), std::string::npos)
      << listed.unreadable[1].why;
  EXPECT_EQ(Regained({}).LatestCheckpoint()->step, 20);
}

TEST_F(RegainedCheckpoints, TheNewestTwoWholeOnesAreFound) {
  Start(1);
  Seal(1, 10);
  for (const int64_t step : {10, 20, 30, 40, 50, 100}) WriteToDisk(step);
  formats::DamageFile(JoinPath(Path(40), formats::kModelName));
  ASSERT_TRUE(MakeDirectories(Path(60)).ok());  // without a manifest
  const auto found = FindUnlisted(LocalStorage(), run_());
  ASSERT_TRUE(found.ok()) << found.status();
  // Without 40, which is damaged, and without 100, which is the run's last step.
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].checkpoint.step, 30);
  EXPECT_EQ((*found)[1].checkpoint.step, 50);
  EXPECT_EQ((*found)[1].checkpoint.directory, Path(50));
  uint64_t size_bytes = 0;
  const auto names = ListDirectory(Path(50)).value();
  for (const std::string& name : names) {
    size_bytes += *FileSize(JoinPath(Path(50), name));
  }
  EXPECT_EQ((*found)[1].checkpoint.size_bytes, size_bytes) << "the manifest counts, too";
  EXPECT_TRUE(
      formats::VerifyDigests(LocalStorage(), Path(50), (*found)[1].checkpoint.manifest_digest)
          .status()
          .ok());
}

TEST_F(RegainedCheckpoints, OneWhoseManifestNamesAnAbsurdEpochIsLeftOut) {
  Start(1);
  for (const int64_t step : {20, 30, 40}) WriteToDisk(step);
  SetEpoch(20, 100'001);  // the largest epoch that is accepted
  SetEpoch(30, 100'002);
  SetEpoch(40, UINT64_MAX);
  const auto found = FindUnlisted(LocalStorage(), run_());
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].checkpoint.step, 20);
}

TEST_F(RegainedCheckpoints, AnOlderStorageRootWithoutThemCostsTheRunItsCheckpointsAlone) {
  Start(1);
  Seal(1, 10);
  EXPECT_TRUE(CheckStorage(LocalStorage(), {cluster_.FindRun(RunId("r"))}).ok());
  // The folder `checkpoints` does not exist.
  const auto found = FindUnlisted(LocalStorage(), run_());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->empty());
  EXPECT_EQ(Regained(*found).LatestCheckpoint(), nullptr);
}

TEST_F(RegainedCheckpoints, AStorageRootThatIsNotMountedIsAnError) {
  ASSERT_TRUE(RemoveTree(root_.path()).ok());
  EXPECT_TRUE(CheckStorage(LocalStorage(), {}).ok());
  // The run was never placed, so it has no directory that could be missing.
  EXPECT_TRUE(CheckStorage(LocalStorage(), {cluster_.FindRun(RunId("r"))}).ok());
  Start(1);
  const auto absent = cluster_.FindRun(RunId("r"));
  const Status refused = CheckStorage(LocalStorage(), {absent});
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(refused).find("mount the storage root"), std::string::npos) << refused;
  EXPECT_NE(Message(refused).find(root_.path()), std::string::npos) << refused;

  const TemporaryDirectory mounted;
  Submission submission = *absent->submission;
  submission.run_directory = mounted.path();
  RunValue other = *absent;
  other.submission = std::make_shared<const Submission>(submission);
  EXPECT_TRUE(CheckStorage(LocalStorage(), {absent, std::make_shared<const RunValue>(other)}).ok());

  // A directory that cannot be checked matters only if no run's directory is found.
  const std::string loop = mounted.path() + "/loop";
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  submission.run_directory = loop + "/run";
  RunValue unseen = *absent;
  unseen.submission = std::make_shared<const Submission>(submission);
  const auto looping = std::make_shared<const RunValue>(unseen);
  EXPECT_TRUE(
      CheckStorage(LocalStorage(), {looping, std::make_shared<const RunValue>(other)}).ok());
  const Status unknown = CheckStorage(LocalStorage(), {absent, looping});
  EXPECT_NE(Message(unknown).find(loop), std::string::npos) << unknown;
}

}  // namespace
}  // namespace gp::coordinator

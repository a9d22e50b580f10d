#include "coordinator/checkpoints/run_directories.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "coordinator/store/sample_events.h"
#include "lib/base/temporary_directory.h"
#include "storage/local_storage.h"

namespace gp::coordinator {
namespace {

using Names = std::vector<std::string>;

Run MakeRun(RunState state, Epoch epoch, bool holds_slots) {
  Run run;
  run.id = RunId("r");
  run.submission = std::make_shared<const Submission>(SampleSubmission());
  run.state = state;
  run.epoch = run.placed_epoch = epoch;
  run.holds_slots = holds_slots;
  return run;
}

SealedCheckpoint Sealed(const std::string& name, bool retired) {
  SealedCheckpoint checkpoint;
  checkpoint.step = std::stoll(name.substr(name.find('-') + 1));
  checkpoint.directory = "/storage/runs/r/checkpoints/" + name;
  checkpoint.retired = retired;
  return checkpoint;
}

TEST(FindOrphans, LeavesWhatIsSealedAndWhatIsBeingWritten) {
  auto run = MakeRun(RunState::kRunning, 3, true);
  run.checkpoints = {Sealed("step-00000010-e1-aaa", false)};
  EXPECT_EQ(FindOrphans(run, {"step-00000010-e1-aaa", "step-00000020-e1-aaa",
                              "step-00000020-e3-bbb", "notes.txt"}),
            Names{"step-00000020-e1-aaa"});
}

// The processes of epoch 2 go on in epoch 4.
TEST(FindOrphans, LeavesWhatAProcessBeganToWriteInAnEarlierEpoch) {
  auto run = MakeRun(RunState::kRunning, 4, true);
  run.placed_epoch = 2;
  run.checkpoints = {Sealed("step-00000010-e2-aaa", false)};
  EXPECT_EQ(
      FindOrphans(run, {"step-00000010-e2-aaa", "step-00000005-e2-aaa", "step-00000020-e1-bbb",
                        "step-00000020-e2-aaa", "step-00000030-e3-aaa", "step-00000040-e4-aaa"}),
      (Names{"step-00000005-e2-aaa", "step-00000020-e1-bbb"}));
}

TEST(FindOrphans, TakesTheLeavingsOfAnEpochThatIsOver) {
  EXPECT_EQ(FindOrphans(MakeRun(RunState::kBackoff, 3, false), {"step-00000020-e3-bbb"}),
            Names{"step-00000020-e3-bbb"});
  EXPECT_EQ(FindOrphans(MakeRun(RunState::kFailed, 3, false), {"step-00000020-e3-bbb"}),
            Names{"step-00000020-e3-bbb"});
}

// The agent reports only the newest unsealed checkpoints. Older ones that were displaced while
// there was no coordinator are never sealed.
TEST(FindOrphans, TakesWhatTheRunningEpochWroteBeforeItsNewestSeal) {
  auto run = MakeRun(RunState::kRunning, 2, true);
  run.checkpoints = {Sealed("step-00000010-e1-aaa", false), Sealed("step-00000040-e2-bbb", false)};
  EXPECT_EQ(FindOrphans(run, {"step-00000010-e1-aaa", "step-00000020-e2-bbb",
                              "step-00000040-e2-bbb", "step-00000050-e2-bbb"}),
            Names{"step-00000020-e2-bbb"});
}

TEST(FindOrphans, TakesWhatIsRetiredEvenOfTheRunningEpoch) {
  auto run = MakeRun(RunState::kRunning, 1, true);
  run.checkpoints = {Sealed("step-00000010-e1-aaa", true), Sealed("step-00000020-e1-aaa", false)};
  EXPECT_EQ(FindOrphans(run, {"step-00000010-e1-aaa", "step-00000020-e1-aaa"}),
            Names{"step-00000010-e1-aaa"});
}

QuarantinedCheckpoint Quarantined(const std::string& name) { return {Sealed(name, false), "a"}; }

TEST(FindOrphans, LeavesWhatIsInQuarantineWithItsMark) {
  auto run = MakeRun(RunState::kFailed, 3, false);
  run.quarantined = {Quarantined("step-00000010-e1-aaa"), Quarantined("step-00000020-e1-aaa")};
  EXPECT_EQ(FindOrphans(run, {"step-00000010-e1-aaa.damaged", "step-00000020-e1-aaa",
                              "step-00000020-e1-aaa.quarantined", "step-00000030-e1-aaa",
                              "step-00000040-e1-aaa.damaged"}),
            Names{"step-00000030-e1-aaa"});
}

TEST(FindOrphans, TakesTheMarkOfWhatIsInTheCatalogueAgain) {
  auto run = MakeRun(RunState::kRunning, 1, true);
  run.checkpoints = {Sealed("step-00000010-e1-aaa", false)};
  EXPECT_EQ(FindOrphans(run, {"step-00000010-e1-aaa", "step-00000010-e1-aaa.quarantined"}),
            Names{"step-00000010-e1-aaa.quarantined"});
}

// A failed run whose checkpoint of step 10 is in quarantine but has no mark on disk yet.
class QuarantinedRun : public ::testing::Test {
 protected:
  void SetUp() override {
    auto run = MakeRun(RunState::kFailed, 3, false);
    Submission submission = SampleSubmission();
    submission.run_directory = JoinPath(directory_.path(), "runs/r");
    run.submission = std::make_shared<const Submission>(submission);
    run.quarantined = {Quarantined("step-00000010-e1-aaa")};
    run.quarantined[0].checkpoint.directory = held_;
    ASSERT_TRUE(MakeDirectories(held_).ok());
    id_ = run.id;
    cluster_.runs.Set(id_, std::make_shared<const gp::coordinator::Run>(run));
  }

  TemporaryDirectory directory_;
  const std::string held_ = JoinPath(directory_.path(), "runs/r/checkpoints/step-00000010-e1-aaa");
  RunId id_;
  Cluster cluster_;
  const LocalStorage storage_{LocalStorage::Links::kRefused};
  RunDirectories directories_{storage_};
};

TEST_F(QuarantinedRun, IsMarkedAfterAStartWhenAnEarlierCoordinatorDidNotComeToIt) {
  directories_.SweepAll(cluster_);
  directories_.Stop();
  EXPECT_TRUE(FileExists(held_));
  EXPECT_EQ(ReadFile(held_ + ".quarantined").value_or(""), "a\n");
}

TEST_F(QuarantinedRun, GetsItsNameBackThatAnOlderVersionChanged) {
  std::filesystem::rename(held_, held_ + ".damaged");
  directories_.SweepAll(cluster_);
  directories_.Stop();
  EXPECT_TRUE(FileExists(held_));
  EXPECT_FALSE(FileExists(held_ + ".damaged"));
  EXPECT_TRUE(FileExists(held_ + ".quarantined"));
}

TEST_F(QuarantinedRun, GetsNoMarkWhenAPersonDeletedIt) {
  ASSERT_TRUE(RemoveTree(held_).ok());
  directories_.SweepAll(cluster_);
  directories_.Stop();
  EXPECT_TRUE(ListDirectory(DirectoryOf(held_))->empty());
}

TEST_F(QuarantinedRun, LosesItsMarkWhenItReturnsToTheCatalogue) {
  ASSERT_TRUE(WriteFileAtomically(held_ + ".quarantined", "a").ok());
  auto run = *cluster_.FindRun(id_);
  run.checkpoints = {run.quarantined[0].checkpoint};
  run.quarantined.clear();
  cluster_.runs.Set(id_, std::make_shared<const gp::coordinator::Run>(run));
  const StoredEvent restored{.event = {id_, At(9), "user", "", CheckpointRestored{10}}};
  directories_.Published(std::make_shared<const Cluster>(cluster_), {restored});
  directories_.Stop();
  EXPECT_TRUE(FileExists(held_));
  EXPECT_FALSE(FileExists(held_ + ".quarantined"));
}

// This happens when an unmounted storage is mounted again.
TEST_F(QuarantinedRun, GetsNoMarkWhenItWasLostAndIsThereAgain) {
  auto run = *cluster_.FindRun(id_);
  run.quarantined[0].lost = true;
  cluster_.runs.Set(id_, std::make_shared<const gp::coordinator::Run>(run));
  directories_.SweepAll(cluster_);
  directories_.Stop();
  EXPECT_TRUE(FileExists(held_));
  EXPECT_FALSE(FileExists(held_ + ".quarantined"));
}

TEST(FindOrphans, LeavesNamesThatAreNotItsOwn) {
  const auto run = MakeRun(RunState::kFailed, 1, false);
  EXPECT_TRUE(FindOrphans(run, {"", "step-", "step-1", "step-1-ex", "my-model", "-e1-"}).empty());
}

TEST(RunDirectories, TensorBoardFindsARunByItsName) {
  const TemporaryDirectory storage;
  Event submit = SampleSubmit("r1", "1");
  Submission& submission = std::get<RunSubmitted>(submit.body).submission;
  submission.name = "twin";
  submission.run_directory = JoinPath(storage.path(), "runs/r1");
  ASSERT_TRUE(MakeDirectories(JoinPath(storage.path(), "runs")).ok());
  Cluster cluster;
  ASSERT_TRUE(Apply(submit, cluster).ok());
  const LocalStorage files;
  RunDirectories directories(files);
  directories.Published(std::make_shared<const Cluster>(cluster), {{1, submit}});
  directories.SweepAll(cluster);  // at startup, the sweep creates missing directories
  directories.Stop();
  std::error_code error;
  EXPECT_EQ(std::filesystem::read_symlink(JoinPath(storage.path(), "tensorboard/twin-r1"), error),
            "../runs/r1");
  EXPECT_TRUE(FileExists(JoinPath(storage.path(), "tensorboard/twin-r1/run.yaml")));
}

TEST(RunDirectories, MakesNothingInAStorageThatIsAway) {
  const TemporaryDirectory storage;
  Event submit = SampleSubmit("r1", "1");
  std::get<RunSubmitted>(submit.body).submission.run_directory =
      JoinPath(storage.path(), "runs/r1");
  Cluster cluster;
  ASSERT_TRUE(Apply(submit, cluster).ok());
  const LocalStorage files;
  RunDirectories directories(files);
  directories.SweepAll(cluster);
  directories.Published(std::make_shared<const Cluster>(cluster), {{1, submit}});
  directories.Stop();
  EXPECT_TRUE(ListDirectory(storage.path())->empty());
}

// Counts what is deleted.
class CountingStorage final : public LocalStorage {
 public:
  CountingStorage() : LocalStorage(Links::kRefused) {}
  Status Delete(const std::string& path) const override {
    ++deletions;
    return LocalStorage::Delete(path);
  }
  mutable std::atomic<int> deletions = 0;
};

// A run that ended and was deleted, with these checkpoints on disk.
class DeletedDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"checkpoints/a/manifest.json", "checkpoints/a/model", "run.yaml",
                             "checkpoints/b/manifest.json", "checkpoints/a.quarantined"}) {
      const std::string path = JoinPath(run_, name);
      ASSERT_TRUE(MakeDirectories(DirectoryOf(path)).ok());
      ASSERT_TRUE(WriteFileAtomically(path, "x").ok());
    }
    const std::string other = JoinPath(directory_.path(), "runs/other");
    ASSERT_TRUE(MakeDirectories(other).ok());
    ASSERT_TRUE(MakeDirectories(DirectoryOf(link_)).ok());
    ASSERT_EQ(symlink("../runs/r", link_.c_str()), 0);
  }
  // Returns how much was deleted.
  int Sweep(std::vector<std::string> kept) {
    Cluster cluster;
    DeletedRun deleted{.id = RunId("r"), .name = "tiny", .run_directory = run_};
    deleted.kept_checkpoints = std::move(kept);
    cluster.deleted.Set(deleted.id, std::make_shared<const DeletedRun>(deleted));
    const CountingStorage storage;
    RunDirectories directories(storage);
    directories.SweepAll(cluster);
    directories.Stop();
    EXPECT_TRUE(FileExists(JoinPath(directory_.path(), "runs/other")));
    EXPECT_FALSE(std::filesystem::is_symlink(link_));
    return storage.deletions;
  }

  TemporaryDirectory directory_;
  const std::string run_ = JoinPath(directory_.path(), "runs/r");
  const std::string link_ = JoinPath(directory_.path(), "tensorboard/tiny-r");
};

TEST_F(DeletedDirectory, IsRemovedAfterAStart) {
  Sweep({});
  EXPECT_FALSE(FileExists(run_));
  Sweep({});  // nothing is left to do
}

TEST_F(DeletedDirectory, KeepsTheCheckpointsThatTheDeletionKept) {
  Sweep({JoinPath(run_, "checkpoints/a")});
  EXPECT_EQ(*ListDirectory(run_), Names{"checkpoints"});
  EXPECT_EQ(*ListDirectory(JoinPath(run_, "checkpoints")), Names{"a"});
  EXPECT_EQ(ListDirectory(JoinPath(run_, "checkpoints/a"))->size(), 2u);
  EXPECT_EQ(Sweep({JoinPath(run_, "checkpoints/a")}), 0) << "nothing is left to do";
  EXPECT_EQ(*ListDirectory(JoinPath(run_, "checkpoints")), Names{"a"});
}

TEST_F(DeletedDirectory, MayBeALinkThatLeadsElsewhere) {
  const std::string elsewhere = JoinPath(directory_.path(), "elsewhere");
  ASSERT_TRUE(MakeDirectories(JoinPath(elsewhere, "checkpoints/a")).ok());
  std::filesystem::remove_all(JoinPath(run_, "checkpoints"));
  const std::string link = JoinPath(run_, "checkpoints");
  ASSERT_EQ(symlink(JoinPath(elsewhere, "checkpoints").c_str(), link.c_str()), 0);
  Sweep({});
  EXPECT_FALSE(FileExists(run_));
  ASSERT_EQ(symlink(elsewhere.c_str(), run_.c_str()), 0);
  ASSERT_EQ(symlink("../runs/r", link_.c_str()), 0);
  Sweep({});
  EXPECT_FALSE(std::filesystem::is_symlink(run_));
  EXPECT_TRUE(FileExists(JoinPath(elsewhere, "checkpoints/a"))) << "it is not the run's own";
}

TEST(RunDirectories, KeepsTheRunFileAndSweepsAtTheEnd) {
  const TemporaryDirectory storage;
  const std::string path = JoinPath(storage.path(), "runs/r");
  Cluster cluster;
  Event submit = SampleSubmit("r", "1");
  std::get<RunSubmitted>(submit.body).submission.run_directory = path;
  ASSERT_TRUE(Apply(submit, cluster).ok());
  const std::string orphan = JoinPath(path, "checkpoints/step-00000010-e1-aaa/model.safetensors");
  ASSERT_TRUE(MakeDirectories(DirectoryOf(orphan)).ok());
  ASSERT_TRUE(WriteFileAtomically(orphan, "x").ok());
  const LocalStorage files;
  RunDirectories directories(files);
  directories.Published(std::make_shared<const Cluster>(cluster), {{1, submit}});
  const Event cancel{RunId("r"), At(2), "user", "", CancelRequested{}};
  const Event end{RunId("r"), At(3), "scheduler", "",
                  RunEnded{RunState::kCancelled, "by the user"}};
  ASSERT_TRUE(Apply(cancel, cluster).ok());
  ASSERT_TRUE(Apply(end, cluster).ok());
  directories.Published(std::make_shared<const Cluster>(cluster), {{3, end}});
  directories.Stop();
  EXPECT_EQ(*ReadFile(JoinPath(path, "run.yaml")), SampleSubmission().resolved);
  EXPECT_EQ(*ReadFile(JoinPath(path, "submitted.yaml")), SampleSubmission().source);
  EXPECT_EQ(*ReadFile(JoinPath(path, "resolved.yaml")), SampleSubmission().resolved);
  EXPECT_FALSE(FileExists(DirectoryOf(orphan)));
}

// Scanning the catalogue for each name and each retirement would take this thread hours. Case
// runs-and-service/42: checkpoints were written faster than old ones were deleted.
TEST(RunDirectories, KeepUpWithARunThatSavesOften) {
  constexpr int kSealed = 20'000;
  constexpr int kLeft = 200;
  const TemporaryDirectory storage;
  auto run = MakeRun(RunState::kRunning, 1, true);
  Submission submission = SampleSubmission();
  submission.run_directory = JoinPath(storage.path(), "runs/r");
  run.submission = std::make_shared<const Submission>(submission);
  const std::string checkpoints = JoinPath(submission.run_directory, "checkpoints");
  ASSERT_TRUE(MakeDirectories(checkpoints).ok());
  std::vector<StoredEvent> events;
  for (int step = 1; step <= kSealed; ++step) {
    const std::string name = fmt::format("step-{:08}-e1-aaa", step);
    run.checkpoints.push_back(Sealed(name, step < kSealed));
    events.push_back({.event = {run.id, At(9), "", "", CheckpointRetired{step, name}}});
    if (step <= kSealed - kLeft) continue;
    ASSERT_TRUE(MakeDirectory(JoinPath(checkpoints, name)).ok());
  }
  const auto cluster = std::make_shared<Cluster>();
  cluster->runs.Set(run.id, std::make_shared<const gp::coordinator::Run>(run));
  const LocalStorage files;
  RunDirectories directories(files);
  directories.Published(cluster, events);
  directories.Stop();
  EXPECT_EQ(*ListDirectory(checkpoints), Names{fmt::format("step-{:08}-e1-aaa", kSealed)});
}

// A rank can write to its run's directory, so it can place a link there to another run's
// checkpoints.
TEST_F(QuarantinedRun, ALinkInPlaceOfItsCheckpointsIsNotFollowed) {
  const TemporaryDirectory other;
  const std::string victim = JoinPath(other.path(), "step-00000005-e1-aaa/model.safetensors");
  ASSERT_TRUE(MakeDirectories(DirectoryOf(victim)).ok());
  ASSERT_TRUE(WriteFileAtomically(victim, "x").ok());
  const std::string checkpoints = DirectoryOf(held_);
  ASSERT_TRUE(RemoveTree(checkpoints).ok());
  ASSERT_EQ(symlink(other.path().c_str(), checkpoints.c_str()), 0);
  directories_.SweepAll(cluster_);
  directories_.Stop();
  EXPECT_TRUE(FileExists(victim));
}

}  // namespace
}  // namespace gp::coordinator

#include "coordinator/telemetry/recorder.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/mutex.h"
#include "lib/base/eventually.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

// Waits, with a deadline, for something that happens on another thread.
class Signal {
 public:
  void Raise() {
    MutexLock lock(mutex_);
    ++count_;
    raised_.NotifyAll();
  }
  bool Wait(int count = 1) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    MutexLock lock(mutex_);
    while (count_ < count) {
      if (!raised_.WaitUntil(mutex_, deadline)) return false;
    }
    return true;
  }
  int count() {
    MutexLock lock(mutex_);
    return count_;
  }

 private:
  Mutex mutex_;
  CondVar raised_;
  int count_ GUARDED_BY(mutex_) = 0;
};

class NoObserver final : public RecordObserver {
 public:
  void OnRecorded(const RunId&, const Progress&) override { recorded.Raise(); }
  Signal recorded;
};

TelemetryBatch MakeBatch(int64_t step, Signal& durable) {
  TelemetryBatch batch;
  contract::TrainingPoint point;
  point.step = step;
  point.epoch = 1;
  point.loss = 2.5;
  batch.points[RunId("r")] = {point};
  Line line;
  line.text = "step";
  line.source = "agent";
  line.source_sequence = static_cast<uint64_t>(step);
  batch.lines[RunId("r")] = {line};
  batch.on_durable = [&durable] { durable.Raise(); };
  return batch;
}

TEST(Recorder, AcknowledgesWhatIsOnDisk) {
  TemporaryDirectory directory;
  NoObserver observer;
  Signal durable;
  Recorder recorder(directory.path(), {}, observer);
  ASSERT_TRUE(recorder.Post(MakeBatch(1, durable)));
  ASSERT_TRUE(recorder.Post(MakeBatch(2, durable)));
  ASSERT_TRUE(durable.Wait(2));
  EXPECT_FALSE(recorder.HasPending(RunId("r")));
  EXPECT_EQ(recorder.ProgressOf(RunId("r")).newest->step, 2);
  uint64_t offset = 0;
  EXPECT_EQ(ReadLines(recorder.DirectoryOf(RunId("r")), 10, offset)->size(), 2u);
}

TEST(Recorder, ForgetsADeletedRunAndItsLogs) {
  TemporaryDirectory directory;
  NoObserver observer;
  Signal durable;
  {
    Recorder recorder(directory.path(), {}, observer);
    ASSERT_TRUE(recorder.Post(MakeBatch(1, durable)));
    ASSERT_TRUE(durable.Wait());
    recorder.Forget(RunId("r"));
    EXPECT_FALSE(recorder.ProgressOf(RunId("r")).newest);
    EXPECT_TRUE(Eventually([&] { return !FileExists(recorder.DirectoryOf(RunId("r"))); }));
    ASSERT_TRUE(recorder.Post(MakeBatch(2, durable)));  // late: it arrived before the deletion
    ASSERT_TRUE(durable.Wait(2));
  }
  Cluster cluster;
  cluster.deleted.Set(RunId("r"), std::make_shared<const DeletedRun>());
  Recorder next(directory.path(), {}, observer);
  EXPECT_TRUE(FileExists(next.DirectoryOf(RunId("r"))));
  next.ForgetDeleted(cluster);
  EXPECT_TRUE(Eventually([&] { return !FileExists(next.DirectoryOf(RunId("r"))); }));
}

// When the observer is called for the last record of a run, none of the run's data is queued.
TEST(Recorder, NothingOfARunWaitsOnceItsLastRecordIsAnnounced) {
  class Observer final : public RecordObserver {
   public:
    void OnRecorded(const RunId& run, const Progress&) override {
      if (run == RunId("r") && !recorder->HasPending(run)) told_last.Raise();
    }
    Recorder* recorder = nullptr;
    Signal told_last;
  };
  TemporaryDirectory directory;
  Observer observer;
  Signal durable;
  Recorder recorder(directory.path(), {}, observer);
  observer.recorder = &recorder;
  ASSERT_TRUE(recorder.Post(MakeBatch(1, durable)));
  TelemetryBatch of_another_run;
  of_another_run.points[RunId("another")] = {contract::TrainingPoint()};
  ASSERT_TRUE(recorder.Post(std::move(of_another_run)));
  EXPECT_TRUE(observer.told_last.Wait());
  EXPECT_FALSE(recorder.HasPending(RunId("never heard of")));
}

TEST(Recorder, ANewOneKnowsWhatTheLastOneKept) {
  TemporaryDirectory directory;
  NoObserver observer;
  Signal durable;
  {
    Recorder recorder(directory.path(), {}, observer);
    ASSERT_TRUE(recorder.Post(MakeBatch(7, durable)));
    ASSERT_TRUE(durable.Wait());
  }
  Recorder recorder(directory.path(), {}, observer);
  EXPECT_EQ(recorder.ProgressOf(RunId("r")).newest->step, 7);
  EXPECT_FALSE(recorder.ProgressOf(RunId("other")).newest.has_value());
}

// A disk that cannot be written: a file has the name of the directory.
class BrokenDisk : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(WriteFileAtomically(root_, "in the way").ok()); }

  TemporaryDirectory directory_;
  const std::string root_ = JoinPath(directory_.path(), "runs");
  NoObserver observer_;
  Signal durable_;
};

TEST_F(BrokenDisk, MakesTheRecorderWaitAndLosesNothing) {
  Recorder recorder(root_, {.retry_delay = std::chrono::milliseconds(1)}, observer_);
  TelemetryBatch batch = MakeBatch(1, durable_);
  batch.on_lost = [](const RunId& run, const std::string& why) {
    ADD_FAILURE() << run.value() << ": " << why;
  };
  ASSERT_TRUE(recorder.Post(std::move(batch)));
  EXPECT_TRUE(recorder.HasPending(RunId("r")));
  ASSERT_TRUE(RemoveTree(root_).ok());
  EXPECT_TRUE(durable_.Wait());
  EXPECT_EQ(recorder.ProgressOf(RunId("r")).newest->step, 1);
}

TEST_F(BrokenDisk, DoesNotDelayTheStop) {
  Recorder recorder(root_, {.retry_delay = std::chrono::hours(1)}, observer_);
  for (int step = 1; step <= 200; ++step) ASSERT_TRUE(recorder.Post(MakeBatch(step, durable_)));
  recorder.Stop();
  EXPECT_EQ(durable_.count(), 0) << "what is not on disk is acknowledged to nobody";
}

TEST_F(BrokenDisk, BoundsWhatWaitsInMemory) {
  Recorder recorder(root_, {.waiting_bytes_max = 1000, .retry_delay = std::chrono::hours(1)},
                    observer_);
  for (const bool fits : {true, true, false}) {
    TelemetryBatch batch = MakeBatch(1, durable_);
    batch.size_bytes = 400;
    EXPECT_EQ(recorder.Post(std::move(batch)), fits);
  }
}

TelemetryBatch OfRun(const std::string& run, int64_t step, Signal& durable) {
  TelemetryBatch batch = MakeBatch(step, durable);
  TelemetryBatch of_run;
  of_run.points[RunId(run)] = batch.points[RunId("r")];
  of_run.lines[RunId(run)] = batch.lines[RunId("r")];
  of_run.on_durable = batch.on_durable;
  return of_run;
}

// A log that cannot be opened, because a directory has its name.
TEST(Recorder, ALogThatCannotBeWrittenLosesItsOwnTelemetryAndHoldsUpNobody) {
  TemporaryDirectory directory;
  NoObserver observer;
  Signal durable;
  Recorder recorder(directory.path(), {}, observer);
  const std::string in_the_way = PointsPath(recorder.DirectoryOf(RunId("bad")));
  ASSERT_TRUE(MakeDirectories(in_the_way).ok());
  std::vector<std::string> lost;
  for (int64_t step = 1; step <= 5; ++step) {
    TelemetryBatch batch = OfRun("bad", step, durable);
    batch.points[RunId("good")] = batch.points[RunId("bad")];
    batch.on_lost = [&](const RunId& run, const std::string& why) {
      lost.push_back(run.value() + ": " + why);
    };
    ASSERT_TRUE(recorder.Post(std::move(batch)));
    ASSERT_TRUE(durable.Wait(static_cast<int>(step)));
  }
  EXPECT_EQ(recorder.ProgressOf(RunId("good")).newest->step, 5);
  EXPECT_FALSE(recorder.HasPending(RunId("bad")));
  ASSERT_EQ(lost.size(), 1u) << "told once";
  EXPECT_NE(lost[0].find("bad: "), std::string::npos);
  EXPECT_NE(lost[0].find("points.log"), std::string::npos);

  ASSERT_TRUE(RemoveTree(in_the_way).ok());
  int64_t step = 6;
  for (; !recorder.ProgressOf(RunId("bad")).newest && step < 1000; ++step) {
    ASSERT_TRUE(recorder.Post(OfRun("bad", step, durable)));
    ASSERT_TRUE(durable.Wait(static_cast<int>(step)));
  }
  EXPECT_LT(step, 1000) << "once it can be written it is written again";
}

TEST(Recorder, MoreRunsThanOpenLogsAreAllKept) {
  TemporaryDirectory directory;
  NoObserver observer;
  Signal durable;
  Recorder recorder(directory.path(), {.open_logs_max = 2}, observer);
  int count = 0;
  for (int64_t step = 1; step <= 4; ++step) {
    for (const char* run : {"a", "b", "c", "d", "e"}) {
      ASSERT_TRUE(recorder.Post(OfRun(run, step, durable)));
      ++count;
    }
  }
  ASSERT_TRUE(durable.Wait(count));
  for (const char* run : {"a", "b", "c", "d", "e"}) {
    uint64_t offset = 0;
    EXPECT_EQ(ReadPoints(recorder.DirectoryOf(RunId(run)), 10, offset)->size(), 4u);
    offset = 0;
    EXPECT_EQ(ReadLines(recorder.DirectoryOf(RunId(run)), 10, offset)->size(), 4u);
  }
}

// The progress is read from memory and can be queried from other threads.
TEST(Recorder, KnowsTheProgressOfEveryRunWithoutReadingItsLog) {
  TemporaryDirectory directory;
  NoObserver observer;
  Signal durable;
  const std::string root = JoinPath(directory.path(), "runs");
  {
    Recorder recorder(root, {}, observer);
    ASSERT_TRUE(recorder.Post(OfRun("a", 7, durable)));
    ASSERT_TRUE(durable.Wait());
  }
  Recorder recorder(root, {}, observer);
  ASSERT_TRUE(RemoveTree(root).ok());
  EXPECT_EQ(recorder.ProgressOf(RunId("a")).newest->step, 7);
}

TEST(Recorder, SummarizesTheLogsOfAnOlderVersionOnce) {
  TemporaryDirectory directory;
  NoObserver observer;
  Signal durable;
  const std::string root = JoinPath(directory.path(), "runs");
  const std::string summary = JoinPath(JoinPath(root, "a"), "summary");
  {
    Recorder recorder(root, {}, observer);
    ASSERT_TRUE(recorder.Post(OfRun("a", 7, durable)));
    ASSERT_TRUE(durable.Wait());
  }
  unlink(summary.c_str());
  const Recorder recorder(root, {}, observer);
  EXPECT_EQ(recorder.ProgressOf(RunId("a")).newest->step, 7);
  EXPECT_TRUE(FileExists(summary));
}

}  // namespace
}  // namespace gp::coordinator

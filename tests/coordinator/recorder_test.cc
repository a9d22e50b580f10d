#include "coordinator/recorder.h"

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "coordinator/temporary_directory.h"

namespace gp::coordinator {
namespace {

using std::chrono::seconds;

// Something that happens on another thread, waited for with a deadline.
class Signal {
 public:
  void Raise() {
    MutexLock lock(mutex_);
    ++count_;
    raised_.NotifyAll();
  }
  bool Wait(int count = 1) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(20);
    MutexLock lock(mutex_);
    while (count_ < count) {
      if (!raised_.WaitUntil(mutex_, deadline)) return false;
    }
    return true;
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
  Point point;
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

// The last record of a run is announced when nothing of it waits any more.
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
  of_another_run.points[RunId("another")] = {Point()};
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

// A disk that cannot be written to: a file stands where the directory should be.
TEST(Recorder, WaitsForADiskThatCannotBeWrittenAndLosesNothing) {
  TemporaryDirectory directory;
  const std::string root = JoinPath(directory.path(), "runs");
  ASSERT_TRUE(WriteFileAtomically(root, "in the way").ok());
  NoObserver observer;
  Signal durable;
  Recorder recorder(root, {}, observer);
  ASSERT_TRUE(recorder.Post(MakeBatch(1, durable)));
  EXPECT_TRUE(recorder.HasPending(RunId("r")));
  ASSERT_TRUE(RemoveTree(root).ok());
  EXPECT_TRUE(durable.Wait());
}

}  // namespace
}  // namespace gp::coordinator

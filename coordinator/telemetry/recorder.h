// Recorder: stores the points and lines of runs. One thread takes up to 64 queued batches at a
// time, appends them to the runs' logs, syncs each of these logs once, and only then acknowledges
// the batches. With a full or broken disk everything waits and nothing is lost. If only one log
// cannot be written, data of its run is lost until it can be written again, and other runs are not
// delayed. Every method may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mailbox.h"
#include "base/mutex.h"
#include "coordinator/state/cluster.h"
#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {

// One batch from one agent.
struct TelemetryBatch {
  std::map<RunId, std::vector<contract::TrainingPoint>> points;
  std::map<RunId, std::vector<Line>> lines;
  size_t size_bytes = 0;  // about what it takes in memory
  // Called on the Recorder's thread when all of it is durable, except lost data. Not called if the
  // Recorder stops first.
  std::function<void()> on_durable;
  // Called on the Recorder's thread, once, when telemetry of a run begins to be lost, with the
  // reason; may be empty.
  std::function<void(const RunId&, const std::string&)> on_lost;
};

// Called for new points and lines, on the Recorder's thread.
class RecordObserver {
 public:
  virtual ~RecordObserver() = default;
  virtual void OnRecorded(const RunId& run, const Progress& progress) = 0;
};

struct RecorderOptions {
  RunLogLimits limits;
  size_t open_logs_max = 128;  // two files each
  // Limit for queued data. The coordinator gives each agent a window, so that the limit is not
  // reached.
  size_t waiting_bytes_max = size_t{256} << 20;
  // Pause before a failed write is retried.
  std::chrono::nanoseconds retry_delay = std::chrono::seconds(1);
};

class Recorder {
 public:
  // Logs live in <directory>/<run id>/. Reads the progress of every run there: its summary and the
  // points after it, or the whole log when there is no summary.
  Recorder(std::string directory, const RecorderOptions& options, RecordObserver& observer);
  ~Recorder();

  // False when too much waits already or the Recorder stops.
  bool Post(TelemetryBatch batch);
  // Writes queued data. If the disk fails, drops it at once: the agents send it again.
  void Stop();

  // Deletes the run's logs and forgets its progress, soon. Called when the run is deleted, from
  // when on nothing is posted for it.
  void Forget(const RunId& run);
  // Called once, at the coordinator's start: forgets the deleted runs whose logs still exist.
  void ForgetDeleted(const Cluster& cluster);

  // True while something posted for the run is not durable. The observer is called when it is.
  bool HasPending(const RunId& run) const;

  // The progress that the run's points show; from memory. Counts points beyond
  // RunLogLimits::points_bytes_max, which are not stored.
  Progress ProgressOf(const RunId& run) const;
  std::string DirectoryOf(const RunId& run) const;

 private:
  using Batches = std::vector<TelemetryBatch>;
  struct OpenLog {
    RunLog log;
    uint64_t used = 0;  // grows with every use
  };
  // State of a log that cannot be written although other files can.
  struct Loss {
    uint64_t points = 0;
    uint64_t lines = 0;
    int tries_skipped = 0;
    int patience = 1;  // writes to skip before the next try; doubles up to 64
  };

  void ReadProgresses();
  StatusOr<Progress> FirstProgressOf(const RunId& run) const;
  void Loop();
  // Retries until everything is written or lost.
  void Write(const Batches& batches);
  // Returns the runs that could not be written because the disk fails, with the error.
  std::map<RunId, Status> WriteRuns(const std::set<RunId>& runs, const Batches& batches);
  Status WriteRun(const RunId& run, const Batches& batches);
  StatusOr<RunLog*> Open(const RunId& run);
  void CloseOldest();
  void Close(OpenLog& open);
  // After a log failed with `failure`: whether another file in the same place can be written.
  bool DiskWorks(const Status& failure) const;
  // True when this batch is lost without a try, because the log failed a short time ago.
  bool SkipsTry(const RunId& run);
  void Lose(const RunId& run, const Batches& batches);
  void TellLoss(const RunId& run, const Status& why, const Batches& batches);
  void EndLoss(const RunId& run);
  // False if the Recorder is stopped meanwhile.
  bool WaitForDisk();
  void DeleteForgotten();
  void CountOff(const Batches& batches);
  void Announce(const Batches& batches);

  const std::string directory_;
  const RecorderOptions options_;
  RecordObserver& observer_;
  Mailbox<TelemetryBatch> mailbox_;
  std::map<RunId, OpenLog> open_;  // this and the next two: used by the Recorder's thread only
  std::map<RunId, Loss> losses_;
  uint64_t uses_ = 0;

  mutable Mutex mutex_;
  CondVar stopping_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  size_t waiting_bytes_ GUARDED_BY(mutex_) = 0;
  std::map<RunId, Progress> progress_ GUARDED_BY(mutex_);
  std::map<RunId, int> pending_ GUARDED_BY(mutex_);  // batches in the mailbox or being written
  std::set<RunId> forgotten_ GUARDED_BY(mutex_);     // their logs are not deleted yet
  std::jthread thread_;
};

}  // namespace gp::coordinator

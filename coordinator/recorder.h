// Recorder: keeps what runs measure and print. One thread appends what agents sent to the runs'
// logs, syncs once for all that waited, and only then acknowledges. A full or broken disk makes
// everything wait and loses nothing; a log that alone cannot be written loses what comes for its
// run until it can, and holds up nobody else. Every method may be called from any thread.
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
#include "coordinator/store/run_log.h"

namespace gp::coordinator {

// What one agent sent at once.
struct TelemetryBatch {
  std::map<RunId, std::vector<Point>> points;
  std::map<RunId, std::vector<Line>> lines;
  size_t size_bytes = 0;  // about what it takes in memory
  // Called once, on the Recorder's thread, when all of it is durable, except what was lost.
  std::function<void()> on_durable;
  // Called on the Recorder's thread when telemetry of a run begins to be lost, with the reason; may
  // be empty.
  std::function<void(const RunId&, const std::string&)> on_lost;
};

// Told of new points and lines, on the Recorder's thread.
class RecordObserver {
 public:
  virtual ~RecordObserver() = default;
  virtual void OnRecorded(const RunId& run, const Progress& progress) = 0;
};

struct RecorderOptions {
  RunLogLimits limits;
  size_t open_logs_max = 128;  // two files each
  // What may wait in memory. Agents are told how much they may send, so that it is not reached.
  size_t waiting_bytes_max = size_t{256} << 20;
  // How long to wait before a failed write is tried again.
  std::chrono::nanoseconds retry_delay = std::chrono::seconds(1);
};

class Recorder {
 public:
  // Logs live in <directory>/<run id>/. Reads what the runs' summaries say.
  Recorder(std::string directory, const RecorderOptions& options, RecordObserver& observer);
  ~Recorder();

  // False when too much waits already.
  bool Post(TelemetryBatch batch);
  // Writes what waits, or gives it up at once when the disk fails: the agents send it again.
  void Stop();

  // Something of the run was posted and is not durable yet. Once it is, the observer is told.
  bool HasPending(const RunId& run) const;

  // What the points of the run say; from memory.
  Progress ProgressOf(const RunId& run) const;
  std::string DirectoryOf(const RunId& run) const;

 private:
  using Batches = std::vector<TelemetryBatch>;
  struct OpenLog {
    RunLog log;
    uint64_t used = 0;  // grows with every use
  };
  // A log that alone cannot be written.
  struct Loss {
    uint64_t points = 0;
    uint64_t lines = 0;
    int tries_skipped = 0;
    int patience = 1;  // try again after so many
  };

  void ReadProgresses();
  StatusOr<Progress> FirstProgressOf(const RunId& run) const;
  void Loop();
  // Retries until everything is written or lost.
  void Write(const Batches& batches);
  // The runs whose turn has not come because the disk fails, and why.
  std::map<RunId, Status> WriteRuns(const std::set<RunId>& runs, const Batches& batches);
  Status WriteRun(const RunId& run, const Batches& batches);
  StatusOr<RunLog*> Open(const RunId& run);
  void CloseOldest();
  void Close(OpenLog& open);
  // A log failed, and another file beside the logs can be written.
  bool DiskWorks(const Status& failure) const;
  // A log that failed is not tried for every batch.
  bool SkipsTry(const RunId& run);
  void Lose(const RunId& run, const Batches& batches);
  void TellLoss(const RunId& run, const Status& why, const Batches& batches);
  void EndLoss(const RunId& run);
  // False when the Recorder is stopped meanwhile.
  bool WaitForDisk();
  void CountOff(const Batches& batches);
  void Announce(const Batches& batches);

  const std::string directory_;
  const RecorderOptions options_;
  RecordObserver& observer_;
  Mailbox<TelemetryBatch> mailbox_;
  std::map<RunId, OpenLog> open_;  // these three: of the Recorder's thread
  std::map<RunId, Loss> losses_;
  uint64_t uses_ = 0;

  mutable Mutex mutex_;
  CondVar stopping_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  size_t waiting_bytes_ GUARDED_BY(mutex_) = 0;
  std::map<RunId, Progress> progress_ GUARDED_BY(mutex_);
  std::map<RunId, int> pending_ GUARDED_BY(mutex_);  // batches in the mailbox or being written
  std::jthread thread_;
};

}  // namespace gp::coordinator

// Recorder: keeps what runs measure and print. One thread appends what agents sent to the runs'
// logs, syncs once for all that waited, and only then acknowledges. Every method may be called from
// any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
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
  std::function<void()> on_durable;
};

// Told of new points and lines, on the Recorder's thread.
class RecordObserver {
 public:
  virtual ~RecordObserver() = default;
  virtual void OnRecorded(const RunId& run, const Progress& progress) = 0;
};

class Recorder {
 public:
  // Logs live in <directory>/<run id>/.
  Recorder(std::string directory, RunLogLimits limits, RecordObserver& observer);
  ~Recorder();

  // False when too much waits already.
  bool Post(TelemetryBatch batch);
  void Stop();

  // Something of the run was posted and is not durable yet. Once it is, the observer is told.
  bool HasPending(const RunId& run) const;

  // What the newest points of the run say; read from disk the first time.
  Progress ProgressOf(const RunId& run);
  std::string DirectoryOf(const RunId& run) const;

 private:
  void Loop();
  // Retries until it is written: a full disk delays acknowledgements, it loses nothing.
  void Write(std::vector<TelemetryBatch> batches);
  Status TryWrite(const std::vector<TelemetryBatch>& batches);
  StatusOr<RunLog*> Open(const RunId& run);
  void CountOff(const std::vector<TelemetryBatch>& batches);
  void Announce(const std::vector<TelemetryBatch>& batches);

  const std::string directory_;
  const RunLogLimits limits_;
  RecordObserver& observer_;
  Mailbox<TelemetryBatch> mailbox_;
  std::map<RunId, RunLog> open_;  // of the Recorder's thread

  mutable Mutex mutex_;
  std::map<RunId, Progress> progress_ GUARDED_BY(mutex_);
  std::map<RunId, int> pending_ GUARDED_BY(mutex_);  // batches in the mailbox or being written
  std::jthread thread_;
};

}  // namespace gp::coordinator

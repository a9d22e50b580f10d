// Announcer: publishes decisions and measurements. For a batch it writes one log line per durable
// event, updates the metrics, posts work to RunDirectories, CheckpointVerifier and the Recorder,
// and notifies the streams of the runs and nodes concerned. For recorded points and lines it
// updates the metrics and notifies the run's streams. Built by the daemon; the Reconciler and the
// Recorder call it, each on its own thread.
#pragma once

#include "coordinator/checkpoints/checkpoint_verifier.h"
#include "coordinator/checkpoints/run_directories.h"
#include "coordinator/control/change_hub.h"
#include "coordinator/control/reconciler.h"
#include "coordinator/telemetry/metrics.h"
#include "coordinator/telemetry/recorder.h"

namespace gp::coordinator {

class Announcer final : public BatchObserver, public RecordObserver {
 public:
  Announcer(ChangeHub& hub, CoordinatorMetrics& metrics, RunDirectories& directories,
            CheckpointVerifier& verifier)
      : hub_(hub), metrics_(metrics), directories_(directories), verifier_(verifier) {}

  // The Recorder deletes the records of deleted runs. Called before the Reconciler starts.
  void ForgetIn(Recorder& recorder) { recorder_ = &recorder; }

  void OnBatch(const PublishedBatch& batch) override;
  void OnRecorded(const RunId& run, const Progress& progress) override;

 private:
  ChangeHub& hub_;
  CoordinatorMetrics& metrics_;
  RunDirectories& directories_;
  CheckpointVerifier& verifier_;
  Recorder* recorder_ = nullptr;  // it reports to this object, so it is made later
};

}  // namespace gp::coordinator

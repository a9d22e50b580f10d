// CheckpointVerifier: reads checkpoints in the coordinator, on its own thread. It reads a
// checkpoint that a rank reported as damaged when no other node can read it, one of another run
// that a run could not begin from, and one that a user wants back from quarantine. It compares
// every byte with the manifest's digests. Built by the daemon; every method may be called from any
// thread.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/mailbox.h"
#include "base/mutex.h"
#include "coordinator/control/reconciler.h"
#include "storage/storage.h"

namespace gp::coordinator {

class CheckpointVerifier {
 public:
  // Called once, on the verifier's thread or the caller's.
  using Done = std::function<void(const Status&)>;

  // `storage` must outlive this object.
  explicit CheckpointVerifier(const Storage& storage);
  ~CheckpointVerifier();

  // First reads the checkpoints that still waited for a verdict when the coordinator last stopped.
  // `reconciler` outlives this.
  void Start(Reconciler& reconciler);
  // Stops the read in progress and refuses the requests that wait. Idempotent.
  void Stop();

  // Reads the checkpoints whose verdict the batch's runs wait for, and those of other runs that
  // they could not begin from. One of these that is damaged goes into quarantine.
  void Published(const PublishedBatch& batch);

  // Who asked for a checkpoint to be restored; recorded in the event.
  struct Request {
    std::string actor;
    std::string request_id;
  };

  // Returns the quarantined checkpoint of `step` to the catalogue if it is intact. DataLoss if it
  // is damaged, FailedPrecondition if it cannot return. OK if this request has returned it before.
  void Restore(const RunId& run, int64_t step, Request request, Done done);

 private:
  static constexpr size_t kTasksMax = 65536;

  struct Task {
    RunId run;
    int64_t step = 0;
    Done done;  // of a restore; empty if the task checks a rank's report of damage
    Request request;
    Epoch epoch = 0;    // of the checkpoint, if another run could not begin from it; otherwise 0
    std::string child;  // that run's name
  };

  struct Restoring {
    std::string request_id;
    int calls = 0;  // of this request that have not been answered; a client may repeat it
  };

  // False when another request's restore of this checkpoint is in progress.
  bool Begin(const RunId& run, int64_t step, const std::string& request_id);
  void End(const RunId& run, int64_t step);

  void Loop(Reconciler& reconciler);
  void AskFor(const Run& run);
  void AskForModel(const Cluster& cluster, const Run& run);
  void Post(Task task);
  void Check(const Task& task, Reconciler& reconciler);
  void CheckModel(const Task& task, Reconciler& reconciler);
  void Tell(const Event& event, Reconciler& reconciler);
  Status BringBack(const Task& task, Reconciler& reconciler);
  // NotFound or DataLoss when the checkpoint cannot return.
  Status CheckWhole(const SealedCheckpoint& checkpoint) const;
  // OK when the event is durable, else the reason why it is not.
  Status Append(const Event& event, Reconciler& reconciler);

  const Storage& storage_;
  Mailbox<Task> mailbox_;
  std::stop_source stop_;
  Mutex mutex_;
  CondVar stopped_;
  std::map<std::pair<RunId, int64_t>, Restoring> restoring_ GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace gp::coordinator

// ServiceRetention: frees the storage of runs that have ended, as the settings retention.* say
// (scheduler/ended_runs.h), on its own thread. Each deletion and prune is an event of the actor
// "retention" and a record of the audit log; while that log cannot be written, nothing is removed.
//
// A wrong wall clock must not delete: an age leaves out what that clock skips while this process
// runs (ObservedTime). What it was before nobody can tell, so in the first hour nothing is deleted
// because of its age: NTP sets a clock that was wrong at boot, and the log says how many runs an
// operator is about to lose. Built by the daemon; Start and Stop from one thread.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/control/reconciler.h"
#include "coordinator/scheduler/ended_runs.h"
#include "coordinator/scheduler/observed_time.h"
#include "storage/storage.h"

namespace gp::coordinator {

struct ServiceRetentionOptions {
  EndedRunsPolicy policy;
  std::string storage_root;
  std::chrono::nanoseconds period = std::chrono::minutes(1);  // between two looks
};

class ServiceRetention {
 public:
  // Every reference must outlive this object.
  ServiceRetention(Reconciler& reconciler, AuditLog& audit, const Storage& files,
                   const Clock& clock, ServiceRetentionOptions options);
  ~ServiceRetention();

  // Looks now and after each period, if the policy is on. The reconciler has started.
  void Start();
  // A deletion in progress is finished. Idempotent.
  void Stop();

  // For a policy with a shorter age, that age.
  static constexpr std::chrono::hours kWatchBeforeAge{1};

  // Deletes and prunes what the policy says at this time. Waits until it is durable.
  void Look();

 private:
  void Loop();
  void NoteTime();
  void DeleteEnded();
  // False when it stops, or when the audit log cannot be written.
  bool MayRemove(const char* method);
  void PruneAtWatermark();
  // Whether files of its earlier decisions still exist: the space that they occupy is about to be
  // free, so nothing more is pruned for it.
  bool IsRemoving();
  // Makes the event durable, then its record in the audit log. False when it was refused, or the
  // coordinator stops.
  bool Decide(const RunId& run, EventBody body, const char* method);
  bool stopped() const;

  Reconciler& reconciler_;
  AuditLog& audit_;
  const Storage& files_;
  const Clock& clock_;
  const ServiceRetentionOptions options_;
  // Of the thread that calls Look:
  std::vector<std::string> removing_;  // directories
  ObservedTime time_;

  mutable Mutex mutex_;
  CondVar stopping_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace gp::coordinator

// ServiceRetention: frees the storage of runs that have ended, as the settings retention.* say
// (scheduler/ended_runs.h), on its own thread. Each deletion and prune is an event of the actor
// "retention" and a record of the audit log. Built by the daemon; Start and Stop from one thread.
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

  // Deletes and prunes what the policy says at this time. Waits until it is durable.
  void Look();

 private:
  void Loop();
  void DeleteEnded();
  void PruneAtWatermark();
  // Whether files of its earlier decisions still exist: the space that they occupy is about to be
  // free, so nothing more is pruned for it.
  bool IsRemoving();
  // Makes the event durable and records it in the audit log. False when it was refused, or the
  // coordinator stops.
  bool Decide(const RunId& run, EventBody body, const char* method);
  bool stopped() const;

  Reconciler& reconciler_;
  AuditLog& audit_;
  const Storage& files_;
  const Clock& clock_;
  const ServiceRetentionOptions options_;
  std::vector<std::string> removing_;  // directories; of the thread that calls Look

  mutable Mutex mutex_;
  CondVar stopping_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace gp::coordinator

// CoordinatorMetrics: the numbers of gp-coordinator for Prometheus. Logic calls these methods and
// never the metrics library. Thread-safe; owned by the daemon.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/scheduler/policy.h"
#include "coordinator/state/cluster.h"
#include "coordinator/store/store.h"
#include "coordinator/telemetry/notification_series.h"
#include "coordinator/telemetry/run_log.h"
#include "rpc/call_observer.h"

namespace prometheus {
class Collectable;
}

namespace gp::coordinator {

class RunSeries;

class CoordinatorMetrics {
 public:
  // `policy`: the scheduler's; decides which nodes count as lost.
  CoordinatorMetrics(const std::string& version, const Clock& clock, const Policy& policy);
  ~CoordinatorMetrics();
  CoordinatorMetrics(const CoordinatorMetrics&) = delete;
  CoordinatorMetrics& operator=(const CoordinatorMetrics&) = delete;

  // Called once with the state that the coordinator loaded at its start, and its store. Creates the
  // series of the live runs from their stored events; their points follow through Recorded.
  Status Started(const Cluster& cluster, Store& store);
  void Published(const std::shared_ptr<const Cluster>& cluster,
                 const std::vector<StoredEvent>& events);
  // Ignored for runs that have ended: their series are gone.
  void Recorded(const RunId& run, const Progress& progress);
  void StoreWritten(double seconds);
  void CallEnded(const rpc::EndedCall& call);

  NotificationSeries& notifications();

  // The page that Prometheus scrapes; must not be used after this object is destroyed.
  std::shared_ptr<prometheus::Collectable> page() const;
  // Everything in the text exposition format.
  std::string Text() const;
  // Every metric that the program can export, as it would look with one run and one worker called
  // "example".
  static std::string List(const std::string& version);

 private:
  struct Families;
  class Page;

  void AddRun(const Run& run) REQUIRES(mutex_);
  Status ReadPast(const Run& run, Store& store) REQUIRES(mutex_);
  void Count(const Cluster& cluster, const StoredEvent& stored) REQUIRES(mutex_);
  // An event of a run that was deleted in the same batch.
  void CountDeleted(const Event& event) REQUIRES(mutex_);
  void SetRunGauges() REQUIRES(mutex_);
  void SetNodeGauges() REQUIRES(mutex_);
  void Refresh();

  const Clock& clock_;
  const Policy policy_;
  const std::unique_ptr<Families> families_;
  const std::shared_ptr<Page> page_;
  Mutex mutex_;
  std::shared_ptr<const Cluster> cluster_ GUARDED_BY(mutex_) =
      std::make_shared<const Cluster>();  // the newest one
  std::map<RunId, std::unique_ptr<RunSeries>> runs_ GUARDED_BY(mutex_);
};

}  // namespace gp::coordinator

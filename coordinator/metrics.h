// CoordinatorMetrics: the numbers of gp-coordinator for Prometheus. Logic calls these methods and
// never the metrics library. Thread-safe; owned by the daemon.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "coordinator/state/cluster.h"
#include "coordinator/store/run_log.h"
#include "coordinator/store/store.h"

namespace prometheus {
class Registry;
}

namespace gp::coordinator {

class CoordinatorMetrics {
 public:
  CoordinatorMetrics(const std::string& version, const std::string& revision);
  ~CoordinatorMetrics();
  CoordinatorMetrics(const CoordinatorMetrics&) = delete;
  CoordinatorMetrics& operator=(const CoordinatorMetrics&) = delete;

  // Called once with the state that the coordinator loaded at its start; its live runs get series.
  void Started(const Cluster& cluster);
  void Published(const Cluster& cluster, const std::vector<StoredEvent>& events);
  // Ignored for runs that have ended: their series are gone.
  void Recorded(const RunId& run, const Progress& progress);
  void StoreWritten(double seconds);

  std::shared_ptr<prometheus::Registry> registry() const;
  // Everything in the text exposition format.
  std::string Text() const;
  // Every metric that the program can export, as it would look with one run and one worker called
  // "example".
  static std::string List(const std::string& version, const std::string& revision);

 private:
  struct Families;
  struct RunSeries;

  void AddRun(const Run& run) REQUIRES(mutex_);
  void RemoveRun(const RunId& run) REQUIRES(mutex_);
  void Count(const Cluster& cluster, const StoredEvent& stored) REQUIRES(mutex_);
  void SetGauges(const Cluster& cluster) REQUIRES(mutex_);

  const std::unique_ptr<Families> families_;
  Mutex mutex_;
  std::map<RunId, std::unique_ptr<RunSeries>> runs_ GUARDED_BY(mutex_);
};

}  // namespace gp::coordinator

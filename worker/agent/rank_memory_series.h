// RankMemorySeries: the series of gp-worker about the memory of its trainers' processes. They are
// there while a process runs. It is the kernel that is asked, at a scrape, so no trainer does
// anything for it. Thread-safe; owned by AgentMetrics.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "worker/agent/rank.h"

namespace prometheus {
class Gauge;
class Registry;
template <typename T>
class Family;
}  // namespace prometheus

namespace gp::agent {

class RankMemorySeries {
 public:
  // `registry` outlives this.
  explicit RankMemorySeries(prometheus::Registry& registry);

  // `limit_bytes`: what the kernel lets the process take; 0 when there is no limit of its own.
  // A process of a newer epoch takes the place of an older one that has not ended yet.
  void Started(const RankKey& key, int pid, uint64_t limit_bytes) EXCLUDES(mutex_);
  void Ended(const RankKey& key) EXCLUDES(mutex_);
  // Reads what each process holds now.
  void Refresh() EXCLUDES(mutex_);

 private:
  struct Series {
    uint64_t epoch = 0;
    int pid = 0;
    prometheus::Gauge* resident = nullptr;
    prometheus::Gauge* limit = nullptr;  // null without a limit
  };

  prometheus::Family<prometheus::Gauge>& resident_;
  prometheus::Family<prometheus::Gauge>& limit_;
  Mutex mutex_;
  std::map<std::pair<std::string, int>, Series> series_ GUARDED_BY(mutex_);  // by run and rank
};

}  // namespace gp::agent

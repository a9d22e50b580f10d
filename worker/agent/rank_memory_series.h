// RankMemorySeries: gp-worker's series for the memory of trainer processes. They exist while a
// process runs. A scrape reads the numbers from the kernel, so trainers do nothing for it.
// Thread-safe; owned by AgentMetrics.
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
  // `registry` must outlive this object.
  explicit RankMemorySeries(prometheus::Registry& registry);

  // `limit_bytes`: the kernel's memory limit of the process; 0 if it has none. A process of a newer
  // epoch replaces an older one that has not ended yet.
  void Started(const RankKey& key, int pid, uint64_t limit_bytes) EXCLUDES(mutex_);
  void Ended(const RankKey& key) EXCLUDES(mutex_);
  // Reads the current memory of each process.
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

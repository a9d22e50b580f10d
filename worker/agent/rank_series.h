// RankSeries: the series of gp-worker that have the labels run and rank. They begin with a rank's
// first step and go a minute after its end, so that a scrape still sees what it did last. The same
// rank of a newer epoch goes on with them. Thread-safe; owned by AgentMetrics.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "link/messages.h"
#include "worker/agent/rank.h"

namespace prometheus {
class Counter;
class Histogram;
class Registry;
template <typename T>
class Family;
}  // namespace prometheus

namespace gp::agent {

class RankSeries {
 public:
  // `registry` outlives this.
  explicit RankSeries(prometheus::Registry& registry);

  void StepCommitted(const RankKey& key, const link::StepReport& report) EXCLUDES(mutex_);
  // `seconds` since the step that the checkpoint saves.
  void CheckpointWritten(const RankKey& key, double seconds) EXCLUDES(mutex_);
  void Ended(const RankKey& key, MonotonicTime at) EXCLUDES(mutex_);
  // Removes what ended more than a minute ago.
  void RemoveEnded(MonotonicTime now) EXCLUDES(mutex_);

 private:
  static constexpr size_t kPhaseCount = 6;

  struct Series {
    uint64_t epoch = 0;
    std::optional<MonotonicTime> ended_at;
    prometheus::Histogram* step = nullptr;
    std::array<prometheus::Counter*, kPhaseCount> phases{};
    // Rank 0 saves; these two are null for other ranks.
    prometheus::Histogram* save = nullptr;
    prometheus::Counter* failed_saves = nullptr;
    int64_t failed_saves_seen = 0;  // of this epoch's process
  };

  Series& SeriesOf(const RankKey& key) REQUIRES(mutex_);
  void Remove(const Series& series) REQUIRES(mutex_);

  prometheus::Family<prometheus::Histogram>& steps_;
  prometheus::Family<prometheus::Counter>& phases_;
  prometheus::Family<prometheus::Histogram>& saves_;
  prometheus::Family<prometheus::Counter>& failed_saves_;
  Mutex mutex_;
  std::map<std::pair<std::string, int>, Series> series_ GUARDED_BY(mutex_);  // by run and rank
};

}  // namespace gp::agent

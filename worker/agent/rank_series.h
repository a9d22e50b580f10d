// RankSeries: gp-worker's series of each rank, with the labels run and rank; the series of
// checkpoints have the label run and exist for rank 0. They begin with a rank's first step and stay
// for a minute after its end, so that a scrape still sees the last values. The same rank of a newer
// epoch continues them. Thread-safe; owned by AgentMetrics.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "contract/messages.h"
#include "worker/agent/rank.h"
#include "worker/agent/save_times.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
template <typename T>
class Family;
}  // namespace prometheus

namespace gp::agent {

class RankSeries {
 public:
  // `registry` must outlive this object.
  explicit RankSeries(prometheus::Registry& registry);

  void StepCommitted(const RankKey& key, const link::StepReport& report) EXCLUDES(mutex_);
  void CheckpointWritten(const RankKey& key, const SaveCost& cost) EXCLUDES(mutex_);
  void Ended(const RankKey& key, MonotonicTime at) EXCLUDES(mutex_);
  // Removes the series of ranks that ended more than a minute ago.
  void RemoveEnded(MonotonicTime now) EXCLUDES(mutex_);

 private:
  struct Series {
    uint64_t epoch = 0;
    std::optional<MonotonicTime> ended_at;
    prometheus::Histogram* step = nullptr;
    std::vector<prometheus::Counter*> phases;  // in the order of contract::StepPhases
    // Null until the rank reports such a value.
    prometheus::Counter* allreduce_seconds = nullptr;
    prometheus::Counter* allreduce_bytes = nullptr;
    prometheus::Gauge* batches_ready = nullptr;
    prometheus::Counter* data_read = nullptr;
    // Rank 0 saves; these are null for other ranks.
    prometheus::Histogram* save_blocking = nullptr;
    prometheus::Histogram* save_background = nullptr;
    prometheus::Counter* failed_saves = nullptr;
    int64_t failed_saves_seen = 0;  // by this epoch's process
  };

  Series& SeriesOf(const RankKey& key) REQUIRES(mutex_);
  // Adds `more` to `series`, and creates that first if it is null. Does nothing if the rank does
  // not report `more`.
  template <typename Number>
  void Raise(prometheus::Family<prometheus::Counter>& family, const RankKey& key,
             prometheus::Counter*& series, const std::optional<Number>& more) REQUIRES(mutex_);
  void Remove(const Series& series) REQUIRES(mutex_);

  prometheus::Family<prometheus::Histogram>& steps_;
  prometheus::Family<prometheus::Counter>& phases_;
  prometheus::Family<prometheus::Counter>& allreduce_seconds_;
  prometheus::Family<prometheus::Counter>& allreduce_bytes_;
  prometheus::Family<prometheus::Gauge>& batches_ready_;
  prometheus::Family<prometheus::Counter>& data_read_;
  prometheus::Family<prometheus::Histogram>& saves_;
  prometheus::Family<prometheus::Counter>& failed_saves_;
  Mutex mutex_;
  std::map<std::pair<std::string, int>, Series> series_ GUARDED_BY(mutex_);  // by run and rank
};

}  // namespace gp::agent

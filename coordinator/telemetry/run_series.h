// RunSeries: the series that one live run has in the metrics. Its destructor removes them, so the
// label `run` never names a run that has ended. Used under the lock of CoordinatorMetrics.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/state/run.h"
#include "coordinator/telemetry/run_log.h"
#include "coordinator/telemetry/run_times.h"

namespace gp::coordinator {

// The families whose series have the label `run`; registered in the constructor.
struct RunFamilies {
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Counters = prometheus::Family<prometheus::Counter>;

  explicit RunFamilies(prometheus::Registry& registry);

  Gauges& info;
  Gauges& epoch;
  Gauges& completion;
  std::map<std::string_view, Gauges*> point;  // the gauges of contract::TrainingPoint, by field
  Gauges& peak_flops;
  Gauges& eval_loss;
  Gauges& eval_score;
  Gauges& checkpoint_time;
  Gauges& checkpoint_size;
  Counters& time;
  Counters& failures;
  Counters& steps;
  Counters& tokens;
  Counters& flops;
  Counters& skipped;
};

class RunSeries {
 public:
  // Sets the series to the current values of `run`. `families` must outlive this object.
  RunSeries(const Run& run, RunFamilies& families);
  ~RunSeries();
  RunSeries(const RunSeries&) = delete;
  RunSeries& operator=(const RunSeries&) = delete;

  // Handles a durable event; `run` is the run after it.
  void Observe(const Event& event, const Run& run);
  void Observe(const Progress& progress);
  // Advances the time counters to `now`.
  void Refresh(Timestamp now);
  // The seconds from the failure that stopped the run to the first step after it. Returned once for
  // each recovery, then nullopt.
  std::optional<double> TakeRecovery();

 private:
  using Labels = prometheus::Labels;
  template <typename Value>
  struct Series {
    prometheus::Family<Value>* family = nullptr;
    Labels labels;
    Value* value = nullptr;
  };
  template <typename Value>
  static Value& At(prometheus::Family<Value>& family, Labels labels,
                   std::vector<Series<Value>>& all);

  void Set(RunFamilies::Gauges& family, double value, const Labels& labels = {});
  // Raises the counter to `value`; never lowers it.
  void Raise(RunFamilies::Counters& family, double value, const Labels& labels = {});
  void Drop(RunFamilies::Gauges& family);
  void Show(const contract::TrainingPoint& point);
  void ShowCompletion(const Progress& progress);
  void ShowCheckpoint(const SealedCheckpoint& checkpoint);
  void SeeRecovery(const Progress& progress);

  const std::string run_;
  RunFamilies& families_;
  std::vector<Series<prometheus::Gauge>> gauges_;
  std::vector<Series<prometheus::Counter>> counters_;
  RunTimes times_;
  std::optional<std::pair<Epoch, Timestamp>> failed_;  // the first failure since the last step
  std::optional<double> recovery_seconds_;
  std::optional<Epoch> stepping_;  // the epoch whose ranks take steps
};

}  // namespace gp::coordinator

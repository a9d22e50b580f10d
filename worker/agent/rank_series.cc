#include "worker/agent/rank_series.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>

namespace gp::agent {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

constexpr std::chrono::nanoseconds kLinger = std::chrono::minutes(1);

// A tiny model on a laptop steps in a millisecond, GPT-2 XL on one CPU in minutes.
const prometheus::Histogram::BucketBoundaries kStepSeconds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

// A tiny model is written in milliseconds, GPT-2 XL with its moments to a slow disk in minutes.
const prometheus::Histogram::BucketBoundaries kSaveSeconds = {
    0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1800};

prometheus::Labels LabelsOf(const RankKey& key) {
  return {{"run", key.run_id}, {"rank", std::to_string(key.rank)}};
}

}  // namespace

RankSeries::RankSeries(prometheus::Registry& registry)
    : steps_(BuildHistogram()
                 .Name("gp_worker_step_duration_seconds")
                 .Help("Wall time of the steps that the rank committed.")
                 .Register(registry)),
      phases_(BuildCounter()
                  .Name("gp_worker_step_phase_seconds_total")
                  .Help("Wall time of the rank's steps, by phase; the phases are disjoint.")
                  .Register(registry)),
      allreduce_seconds_(BuildCounter()
                             .Name("gp_worker_allreduce_seconds_total")
                             .Help("Total time of the rank's all-reduces, including the part "
                                   "overlapped with backward. Only for CPU ranks with peers; GPU "
                                   "ranks measure only the exposed part.")
                             .Register(registry)),
      allreduce_bytes_(BuildCounter()
                           .Name("gp_worker_allreduce_bytes_total")
                           .Help("Bytes of gradients that the rank all-reduced; divided by "
                                 "gp_worker_allreduce_seconds_total, the algorithm bandwidth. "
                                 "Only for CPU ranks with peers.")
                           .Register(registry)),
      batches_ready_(BuildGauge()
                         .Name("gp_data_prefetched_batches")
                         .Help("Fewest micro-batches that the loader had ready when the rank's "
                               "last step asked for one: 1, or 0 when the step had to wait.")
                         .Register(registry)),
      data_read_(BuildCounter()
                     .Name("gp_data_read_bytes_total")
                     .Help("Bytes of tokens that the rank's loader read, as they are stored.")
                     .Register(registry)),
      saves_(BuildHistogram()
                 .Name("gp_checkpoint_duration_seconds")
                 .Help("Duration of a checkpoint. background: from the step that it saves until "
                       "all its files are synced, while training continues; blocking: the part of "
                       "this time in which the rank took no step.")
                 .Register(registry)),
      failed_saves_(BuildCounter()
                        .Name("gp_checkpoint_failures_total")
                        .Help("Saves that failed or were skipped, because the one before them was "
                              "still being written; training continues without them.")
                        .Register(registry)) {}

void RankSeries::StepCommitted(const RankKey& key, const link::StepReport& report) {
  MutexLock lock(mutex_);
  Series& series = SeriesOf(key);
  series.step->Observe(report.point.step_seconds);
  size_t phase = 0;
  contract::VisitFields(report.point.phases, [&](const contract::FieldInfo&, double seconds) {
    series.phases[phase++]->Increment(std::max(0.0, seconds));
  });
  Raise(allreduce_seconds_, key, series.allreduce_seconds, report.rank.allreduce_seconds);
  Raise(allreduce_bytes_, key, series.allreduce_bytes, report.rank.allreduce_bytes);
  Raise(data_read_, key, series.data_read, report.rank.data_read_bytes);
  if (report.rank.batches_ready) {
    if (series.batches_ready == nullptr) series.batches_ready = &batches_ready_.Add(LabelsOf(key));
    series.batches_ready->Set(*report.rank.batches_ready);
  }
  const int64_t failed = report.rank.failed_saves.value_or(0);
  if (series.failed_saves == nullptr || failed <= series.failed_saves_seen) return;
  series.failed_saves->Increment(static_cast<double>(failed - series.failed_saves_seen));
  series.failed_saves_seen = failed;
}

void RankSeries::CheckpointWritten(const RankKey& key, const SaveCost& cost) {
  MutexLock lock(mutex_);
  const Series& series = SeriesOf(key);
  if (series.failed_saves == nullptr) return;
  if (cost.blocking_seconds) series.save_blocking->Observe(std::max(0.0, *cost.blocking_seconds));
  if (cost.background_seconds) series.save_background->Observe(*cost.background_seconds);
}

void RankSeries::Ended(const RankKey& key, MonotonicTime at) {
  MutexLock lock(mutex_);
  const auto found = series_.find({key.run_id, key.rank});
  if (found != series_.end() && found->second.epoch == key.epoch) found->second.ended_at = at;
}

void RankSeries::RemoveEnded(MonotonicTime now) {
  MutexLock lock(mutex_);
  for (auto it = series_.begin(); it != series_.end();) {
    const bool over = it->second.ended_at && now - *it->second.ended_at >= kLinger;
    if (over) Remove(it->second);
    it = over ? series_.erase(it) : std::next(it);
  }
}

RankSeries::Series& RankSeries::SeriesOf(const RankKey& key) {
  const auto [found, made] = series_.try_emplace({key.run_id, key.rank});
  Series& series = found->second;
  if (made) {
    const prometheus::Labels run = {{"run", key.run_id}};
    const prometheus::Labels labels = LabelsOf(key);
    series.step = &steps_.Add(labels, kStepSeconds);
    contract::StepPhases::ForEachField([&](const contract::FieldInfo& phase, auto) {
      prometheus::Labels of_phase = labels;
      of_phase.emplace("phase", phase.name);
      series.phases.push_back(&phases_.Add(of_phase));
    });
    if (key.rank == 0) {
      series.save_blocking = &saves_.Add({{"run", key.run_id}, {"mode", "blocking"}}, kSaveSeconds);
      series.save_background =
          &saves_.Add({{"run", key.run_id}, {"mode", "background"}}, kSaveSeconds);
      series.failed_saves = &failed_saves_.Add(run);
    }
  }
  if (series.epoch != key.epoch) {
    series.epoch = key.epoch;
    series.ended_at.reset();
    series.failed_saves_seen = 0;
  }
  return series;
}

template <typename Number>
void RankSeries::Raise(prometheus::Family<prometheus::Counter>& family, const RankKey& key,
                       prometheus::Counter*& series, const std::optional<Number>& more) {
  if (!more) return;
  if (series == nullptr) series = &family.Add(LabelsOf(key));
  series->Increment(std::max(0.0, static_cast<double>(*more)));
}

void RankSeries::Remove(const Series& series) {
  steps_.Remove(series.step);
  for (prometheus::Counter* phase : series.phases) phases_.Remove(phase);
  const auto remove = [](auto& family, auto* value) {
    if (value != nullptr) family.Remove(value);
  };
  remove(allreduce_seconds_, series.allreduce_seconds);
  remove(allreduce_bytes_, series.allreduce_bytes);
  remove(batches_ready_, series.batches_ready);
  remove(data_read_, series.data_read);
  remove(saves_, series.save_blocking);
  remove(saves_, series.save_background);
  remove(failed_saves_, series.failed_saves);
}

}  // namespace gp::agent

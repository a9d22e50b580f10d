#include "worker/agent/rank_series.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>

namespace gp::agent {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildHistogram;

constexpr std::chrono::nanoseconds kLinger = std::chrono::minutes(1);

// A tiny model on a laptop steps in a millisecond, GPT-2 XL on one CPU in minutes.
const prometheus::Histogram::BucketBoundaries kStepSeconds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

// A tiny model is written in milliseconds, GPT-2 XL with its moments to a slow disk in minutes.
const prometheus::Histogram::BucketBoundaries kSaveSeconds = {
    0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1800};

// In the order of SecondsOf.
constexpr std::array kPhases = {"data_wait",         "forward",   "backward",
                                "allreduce_exposed", "optimizer", "other"};

std::array<double, kPhases.size()> SecondsOf(const link::Phases& phases) {
  return {phases.data_wait,         phases.forward,   phases.backward,
          phases.allreduce_exposed, phases.optimizer, phases.other};
}

}  // namespace

RankSeries::RankSeries(prometheus::Registry& registry)
    : steps_(BuildHistogram()
                 .Name("gp_worker_step_duration_seconds")
                 .Help("Wall time of the steps that the rank committed.")
                 .Register(registry)),
      phases_(BuildCounter()
                  .Name("gp_worker_step_phase_seconds_total")
                  .Help("Where the wall time of the rank's steps went; the phases are disjoint.")
                  .Register(registry)),
      saves_(BuildHistogram()
                 .Name("gp_checkpoint_duration_seconds")
                 .Help("From the step that a checkpoint saves until all its files are synced; "
                       "training goes on meanwhile.")
                 .Register(registry)),
      failed_saves_(BuildCounter()
                        .Name("gp_checkpoint_failures_total")
                        .Help("Saves that failed or were skipped, because the one before them was "
                              "still being written; training goes on without them.")
                        .Register(registry)) {}

void RankSeries::StepCommitted(const RankKey& key, const link::StepReport& report) {
  MutexLock lock(mutex_);
  Series& series = SeriesOf(key);
  series.step->Observe(report.step_seconds);
  const auto seconds = SecondsOf(report.phases);
  for (size_t phase = 0; phase < kPhaseCount; ++phase) {
    series.phases[phase]->Increment(std::max(0.0, seconds[phase]));
  }
  const int64_t failed = report.failed_saves.value_or(0);
  if (series.failed_saves == nullptr || failed <= series.failed_saves_seen) return;
  series.failed_saves->Increment(static_cast<double>(failed - series.failed_saves_seen));
  series.failed_saves_seen = failed;
}

void RankSeries::CheckpointWritten(const RankKey& key, double seconds) {
  MutexLock lock(mutex_);
  const Series& series = SeriesOf(key);
  if (series.save != nullptr) series.save->Observe(seconds);
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
    prometheus::Labels labels = run;
    labels.emplace("rank", std::to_string(key.rank));
    series.step = &steps_.Add(labels, kStepSeconds);
    for (size_t phase = 0; phase < kPhaseCount; ++phase) {
      prometheus::Labels of_phase = labels;
      of_phase.emplace("phase", kPhases[phase]);
      series.phases[phase] = &phases_.Add(of_phase);
    }
    if (key.rank == 0) {
      series.save = &saves_.Add(run, kSaveSeconds);
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

void RankSeries::Remove(const Series& series) {
  steps_.Remove(series.step);
  for (prometheus::Counter* phase : series.phases) phases_.Remove(phase);
  if (series.save != nullptr) saves_.Remove(series.save);
  if (series.failed_saves != nullptr) failed_saves_.Remove(series.failed_saves);
}

}  // namespace gp::agent

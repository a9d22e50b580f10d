#include "coordinator/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

#include "coordinator/state/assignment.h"

namespace gp::coordinator {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

constexpr RunState kLiveStates[] = {RunState::kSubmitted, RunState::kQueued,  RunState::kStarting,
                                    RunState::kRunning,   RunState::kBackoff, RunState::kFinishing,
                                    RunState::kCancelling};

const Histogram::BucketBoundaries kWriteSeconds = {0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                   0.025,  0.05,  0.1,    0.25,  1};
const Histogram::BucketBoundaries kWaitSeconds = {0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200, 43200};

Family<Gauge>& MakeGauge(const char* name, const char* help, Registry& registry) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}

double Seconds(Timestamp time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

const char* StateOfGpu(const Slot& slot, const std::vector<Assignment>& assignments) {
  for (const Assignment& assignment : assignments) {
    if (assignment.slot == slot.id) return "allocated";
  }
  return slot.problem.empty() ? "free" : "unusable";
}

std::string CauseLabel(ExitCause cause) {
  switch (cause) {
    case ExitCause::kSignal:
      return "signal";
    case ExitCause::kOutOfMemory:
      return "oom";
    case ExitCause::kCollective:
      return "collective";
    case ExitCause::kConfig:
      return "config";
    case ExitCause::kStorage:
      return "storage";
    case ExitCause::kSpawnFailed:
      return "spawn_failed";
    case ExitCause::kUnfit:
      return "unfit";
    case ExitCause::kDamagedCheckpoint:
      return "damaged_checkpoint";
    case ExitCause::kUnspecified:
      return "worker_lost";
    default:
      return "error";
  }
}

}  // namespace

struct CoordinatorMetrics::Families {
  std::shared_ptr<Registry> registry = std::make_shared<Registry>();
  Family<Gauge>& build_info =
      MakeGauge("gp_build_info", "Version of the running program; always 1", *registry);
  Family<Gauge>& runs =
      MakeGauge("gp_coordinator_runs", "Runs that have not ended, by state", *registry);
  Family<Counter>& finished = BuildCounter()
                                  .Name("gp_coordinator_runs_finished_total")
                                  .Help("Runs that ended, by outcome")
                                  .Register(*registry);
  Family<Counter>& restarts = BuildCounter()
                                  .Name("gp_coordinator_run_restarts_total")
                                  .Help("Epochs that ended by a failure, by its cause")
                                  .Register(*registry);
  Histogram& queue_wait = BuildHistogram()
                              .Name("gp_coordinator_queue_wait_seconds")
                              .Help("From submit to the first placement")
                              .Register(*registry)
                              .Add({}, kWaitSeconds);
  Gauge& oldest_queued =
      MakeGauge("gp_coordinator_oldest_queued_timestamp_seconds",
                "Submit time of the oldest run that waits; 0 when none does", *registry)
          .Add({});
  Family<Gauge>& workers =
      MakeGauge("gp_coordinator_workers", "Nodes that ever said hello, by state", *registry);
  Family<Gauge>& slots =
      MakeGauge("gp_coordinator_slots", "Slots of connected nodes, by state", *registry);
  Family<Gauge>& heartbeat = MakeGauge("gp_coordinator_worker_heartbeat_timestamp_seconds",
                                       "When the node was last heard", *registry);
  Histogram& store_write = BuildHistogram()
                               .Name("gp_coordinator_store_write_duration_seconds")
                               .Help("Durable writes of decisions")
                               .Register(*registry)
                               .Add({}, kWriteSeconds);

  Family<Gauge>& run_info = MakeGauge("gp_run_info", "Live runs; always 1", *registry);
  Family<Gauge>& run_step =
      MakeGauge("gp_run_step", "Last committed step; may fall after a restart", *registry);
  Family<Gauge>& run_target_steps =
      MakeGauge("gp_run_target_steps", "Steps the run will take; 0 when unknown", *registry);
  Family<Gauge>& run_tokens_per_second =
      MakeGauge("gp_run_tokens_per_second", "Tokens trained per second, all ranks", *registry);
  Family<Gauge>& gpus =
      MakeGauge("gp_coordinator_gpus", "GPU slots of connected nodes, by state", *registry);
  Family<Gauge>& run_mfu = MakeGauge(
      "gp_run_mfu", "Model FLOPs utilisation, 0 to 1; 0 when the peak is unknown", *registry);
  Family<Gauge>& run_peak_flops = MakeGauge(
      "gp_run_peak_flops",
      "FLOPs per second that gp_run_mfu is a fraction of, all ranks, and where the number "
      "comes from",
      *registry);
  Family<Gauge>& run_step_phase = MakeGauge(
      "gp_run_step_phase_seconds",
      "Where the wall time of the last step went on rank 0; the phases are disjoint", *registry);
  Family<Counter>& skipped = BuildCounter()
                                 .Name("gp_train_skipped_steps_total")
                                 .Help("Steps whose update was not applied, by reason")
                                 .Register(*registry);
  Family<Gauge>& loss =
      MakeGauge("gp_train_loss", "Training loss of the last step, nats per token", *registry);
  Family<Gauge>& learning_rate =
      MakeGauge("gp_train_learning_rate", "Learning rate of the last step", *registry);
  Family<Gauge>& gradient_norm = MakeGauge(
      "gp_train_gradient_norm", "Gradient norm of the last step, before clipping", *registry);
  Family<Gauge>& eval_loss =
      MakeGauge("gp_eval_loss", "Loss of the last evaluation, nats per token", *registry);
  Family<Gauge>& eval_score = MakeGauge(
      "gp_eval_score",
      "What the last evaluation found beside the loss: val_bpb, bits per byte; of questions "
      "TASK/STYLE/acc and acc_norm, 0 to 1",
      *registry);
  Family<Gauge>& checkpoint_time = MakeGauge("gp_checkpoint_last_success_timestamp_seconds",
                                             "When the newest checkpoint was sealed", *registry);
};

// Pointers into the families; null until the first value.
struct CoordinatorMetrics::RunSeries {
  using Labels = std::map<std::string, std::string>;
  struct Series {
    Family<Gauge>* family = nullptr;
    Labels labels;  // without the run
    Gauge* gauge = nullptr;
  };

  std::string run;
  std::vector<Series> all;
  Counter* skipped = nullptr;
  int64_t skipped_steps = 0;  // counted so far

  void Set(Family<Gauge>& family, double value, const Labels& labels = {}) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const Series& series) {
      return series.family == &family && series.labels == labels;
    });
    if (known != all.end()) return known->gauge->Set(value);
    Labels with_run = labels;
    with_run["run"] = run;
    Gauge& gauge = family.Add(with_run);
    gauge.Set(value);
    all.push_back({&family, labels, &gauge});
  }

  void SetPhases(Family<Gauge>& family, const Point& point) {
    Set(family, point.data_wait_seconds, {{"phase", "data_wait"}});
    Set(family, point.forward_seconds, {{"phase", "forward"}});
    Set(family, point.backward_seconds, {{"phase", "backward"}});
    Set(family, point.allreduce_exposed_seconds, {{"phase", "allreduce_exposed"}});
    Set(family, point.optimizer_seconds, {{"phase", "optimizer"}});
    Set(family, point.other_seconds, {{"phase", "other"}});
  }

  void CountSkipped(int64_t steps) {
    if (steps > skipped_steps) skipped->Increment(static_cast<double>(steps - skipped_steps));
    skipped_steps = steps;
  }
};

CoordinatorMetrics::CoordinatorMetrics(const std::string& version, const std::string& revision)
    : families_(std::make_unique<Families>()) {
  families_->build_info
      .Add({{"component", "coordinator"}, {"version", version}, {"revision", revision}})
      .Set(1);
  for (const char* outcome : {"succeeded", "failed", "cancelled"}) {
    families_->finished.Add({{"outcome", outcome}});
  }
  MutexLock lock(mutex_);
  SetGauges(Cluster());
}

CoordinatorMetrics::~CoordinatorMetrics() = default;

void CoordinatorMetrics::Started(const Cluster& cluster) {
  MutexLock lock(mutex_);
  for (const auto& [sequence, id] : cluster.live) AddRun(*cluster.FindRun(id));
  SetGauges(cluster);
}

void CoordinatorMetrics::Published(const Cluster& cluster, const std::vector<StoredEvent>& events) {
  MutexLock lock(mutex_);
  for (const StoredEvent& stored : events) Count(cluster, stored);
  SetGauges(cluster);
}

void CoordinatorMetrics::Count(const Cluster& cluster, const StoredEvent& stored) {
  const auto run = cluster.FindRun(stored.event.run);
  const EventBody& body = stored.event.body;
  if (std::holds_alternative<RunSubmitted>(body)) AddRun(*run);
  if (const auto* placed = std::get_if<RunPlaced>(&body); placed != nullptr && placed->epoch == 1) {
    families_->queue_wait.Observe(Seconds(stored.event.at) - Seconds(run->submitted_at));
  }
  if (const auto* failed = std::get_if<RankFailed>(&body)) {
    families_->restarts.Add({{"reason", CauseLabel(failed->cause)}}).Increment();
  }
  if (std::holds_alternative<CheckpointSealed>(body) && runs_.contains(run->id)) {
    runs_[run->id]->Set(families_->checkpoint_time, Seconds(stored.event.at));
  }
  if (const auto* ended = std::get_if<RunEnded>(&body)) {
    families_->finished.Add({{"outcome", std::string(Name(ended->state))}}).Increment();
    RemoveRun(run->id);
  }
}

void CoordinatorMetrics::AddRun(const Run& run) {
  auto series = std::make_unique<RunSeries>();
  series->run = run.id.value();
  series->Set(
      families_->run_info, 1,
      {{"name", run.submission->name}, {"world_size", std::to_string(run.submission->workers)}});
  series->Set(families_->run_target_steps, static_cast<double>(run.submission->target_steps));
  series->Set(families_->run_step, 0);
  series->skipped = &families_->skipped.Add({{"run", run.id.value()}, {"reason", "nonfinite"}});
  runs_[run.id] = std::move(series);
}

void CoordinatorMetrics::RemoveRun(const RunId& run) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  for (const RunSeries::Series& series : found->second->all) series.family->Remove(series.gauge);
  families_->skipped.Remove(found->second->skipped);
  runs_.erase(found);
}

void CoordinatorMetrics::SetGauges(const Cluster& cluster) {
  std::map<RunState, int> by_state;
  for (const RunState state : kLiveStates) by_state[state] = 0;
  Timestamp oldest{};
  for (const auto& [sequence, id] : cluster.live) {
    const auto run = cluster.FindRun(id);
    ++by_state[run->state];
    const bool older = oldest == Timestamp{} || run->submitted_at < oldest;
    if (IsWaiting(run->state) && older) oldest = run->submitted_at;
  }
  for (const auto& [state, count] : by_state) {
    families_->runs.Add({{"state", std::string(Name(state))}}).Set(count);
  }
  families_->oldest_queued.Set(Seconds(oldest));

  std::map<std::string, int> workers = {{"ready", 0}, {"busy", 0}, {"lost", 0}};
  std::map<std::string, int> gpus = {{"allocated", 0}, {"free", 0}, {"unusable", 0}};
  size_t slots = 0;
  size_t allocated = 0;
  for (const auto& [id, node] : cluster.nodes) {
    if (node->name.empty()) continue;
    const auto assignments = AssignmentsOf(cluster, id);
    const size_t assigned = assignments.size();
    ++workers[!node->connected ? "lost" : assigned > 0 ? "busy" : "ready"];
    families_->heartbeat.Add({{"worker", node->name}}).Set(Seconds(node->last_heard_at));
    if (!node->connected) continue;
    slots += node->slots.size();
    allocated += assigned;
    for (const Slot& slot : node->slots) {
      if (slot.is_gpu()) ++gpus[StateOfGpu(slot, assignments)];
    }
  }
  for (const auto& [state, count] : gpus) families_->gpus.Add({{"state", state}}).Set(count);
  for (const auto& [state, count] : workers) families_->workers.Add({{"state", state}}).Set(count);
  families_->slots.Add({{"state", "allocated"}}).Set(static_cast<double>(allocated));
  families_->slots.Add({{"state", "free"}})
      .Set(static_cast<double>(slots - std::min(slots, allocated)));
}

void CoordinatorMetrics::Recorded(const RunId& run, const Progress& progress) {
  MutexLock lock(mutex_);
  const auto found = runs_.find(run);
  if (found == runs_.end() || !progress.newest) return;
  RunSeries& series = *found->second;
  const Point& point = *progress.newest;
  series.Set(families_->run_step, static_cast<double>(point.step));
  series.Set(families_->run_tokens_per_second, point.tokens_per_second);
  series.Set(families_->run_mfu, point.mfu);
  if (point.target_steps > 0) {
    series.Set(families_->run_target_steps, static_cast<double>(point.target_steps));
  }
  if (point.peak_flops > 0) {
    series.Set(families_->run_peak_flops, point.peak_flops, {{"source", point.peak_source}});
  }
  series.SetPhases(families_->run_step_phase, point);
  series.CountSkipped(progress.skipped_steps);
  series.Set(families_->loss, point.loss);
  series.Set(families_->learning_rate, point.learning_rate);
  series.Set(families_->gradient_norm, point.gradient_norm);
  if (progress.validation_loss) {
    series.Set(families_->eval_loss, *progress.validation_loss, {{"split", "val"}});
  }
  for (const auto& [name, score] : progress.scores) {
    series.Set(families_->eval_score, score.value, {{"score", name}});
  }
}

void CoordinatorMetrics::StoreWritten(double seconds) { families_->store_write.Observe(seconds); }

std::shared_ptr<prometheus::Registry> CoordinatorMetrics::registry() const {
  return families_->registry;
}

std::string CoordinatorMetrics::Text() const {
  return prometheus::TextSerializer().Serialize(families_->registry->Collect());
}

std::string CoordinatorMetrics::List(const std::string& version, const std::string& revision) {
  CoordinatorMetrics metrics(version, revision);
  Run example;
  example.id = RunId("example");
  example.submission = std::make_shared<const Submission>();
  Progress progress;
  progress.Add({.validation_loss = 0,
                .peak_flops = 1,
                .peak_source = "measured",
                .scores = {{"val_bpb", 0}}});
  {
    MutexLock lock(metrics.mutex_);
    metrics.AddRun(example);
    metrics.runs_[example.id]->Set(metrics.families_->checkpoint_time, 0);
    metrics.families_->restarts.Add({{"reason", CauseLabel(ExitCause::kUnspecified)}});
    metrics.families_->heartbeat.Add({{"worker", "example"}});
  }
  metrics.Recorded(example.id, progress);
  return metrics.Text();
}

}  // namespace gp::coordinator

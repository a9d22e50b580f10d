#include "coordinator/telemetry/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

#include "coordinator/scheduler/liveness.h"
#include "coordinator/state/assignment.h"
#include "coordinator/state/cordon.h"
#include "coordinator/telemetry/run_series.h"

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

constexpr int kEventsAtOnce = 1000;

constexpr RunState kLiveStates[] = {RunState::kSubmitted, RunState::kQueued,    RunState::kStarting,
                                    RunState::kRunning,   RunState::kPaused,    RunState::kBackoff,
                                    RunState::kFinishing, RunState::kCancelling};

constexpr ExitCause kFailureCauses[] = {ExitCause::kUnspecified, ExitCause::kSignal,
                                        ExitCause::kOutOfMemory, ExitCause::kCollective,
                                        ExitCause::kConfig,      ExitCause::kStorage,
                                        ExitCause::kError,       ExitCause::kSpawnFailed,
                                        ExitCause::kUnfit,       ExitCause::kDamagedCheckpoint,
                                        ExitCause::kData,        ExitCause::kStalled,
                                        ExitCause::kDiverged};

const Histogram::BucketBoundaries kWriteSeconds = {0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                   0.025,  0.05,  0.1,    0.25,  1};
const Histogram::BucketBoundaries kWaitSeconds = {0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200, 43200};

const Histogram::BucketBoundaries kCallSeconds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                  0.05,   0.1,   0.25,   0.5,   1,    5};

Family<Gauge>& MakeGauge(const char* name, const char* help, Registry& registry) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}

double Seconds(Timestamp time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

constexpr const char* kNodeStates[] = {"ready", "busy", "lost", "cordoned", "draining", "drained"};
constexpr const char* kSlotStates[] = {"allocated", "free", "cordoned", "unusable"};

// The state of a node in gp_coordinator_workers. A cordoned or drained node is never "lost": it is
// expected to be away. `lost`: it is disconnected or its lease has passed. The lease matters
// because TCP may keep the connection of a vanished node open for long.
const char* StateOf(const Node& node, size_t assigned, int busy_slots, bool lost) {
  if (node.cordon && !node.cordon->drain) return "cordoned";
  if (node.cordon) return busy_slots > 0 ? "draining" : "drained";
  if (lost) return "lost";
  return assigned > 0 ? "busy" : "ready";
}

// The submit time of the oldest run that waits; zero when no run waits.
Timestamp OldestWaiting(const Cluster& cluster) {
  for (const auto& [sequence, id] : cluster.live) {
    const auto run = cluster.FindRun(id);
    if (IsWaiting(run->state)) return run->submitted_at;
  }
  return {};
}

const char* StateOfSlot(const Node& node, const Slot& slot,
                        const std::vector<Assignment>& assignments) {
  for (const Assignment& assignment : assignments) {
    if (assignment.slot == slot.id) return "allocated";
  }
  if (!slot.problem.empty() || !node.storage_problem.empty()) return "unusable";
  return node.cordon ? "cordoned" : "free";
}

// Dashboards and alerts use these labels, so they must not change. In gp-worker's metrics
// kOutOfMemory is "out_of_memory".
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
    case ExitCause::kData:
      return "data";
    case ExitCause::kDamagedCheckpoint:
      return "damaged_checkpoint";
    case ExitCause::kStalled:
      return "stalled";
    case ExitCause::kDiverged:
      return "diverged";
    // Every failure without a trainer's exit (scheduler/recovery.cc): the node was silent for
    // longer than the lease, the agent restarted without the trainer, the trainer's process was
    // replaced, or not every rank was ready within runs.start_timeout.
    case ExitCause::kUnspecified:
      return "worker_lost";
    default:
      return "error";
  }
}

// A point that gives every gauge a series.
contract::TrainingPoint ExamplePoint() {
  contract::TrainingPoint point;
  contract::VisitFields(point, [](const contract::FieldInfo&, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<Value>) value = 1;
    if constexpr (std::is_same_v<Value, std::optional<double>>) value = 1;
  });
  point.epoch = 0;  // that of the example run
  point.step_seconds = Pace::kForecastSeconds;
  point.scores = {{"val_bpb", 1}};
  point.peak_source = "measured";
  return point;
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
                                  .Help("Epochs that ended with a failure, by cause")
                                  .Register(*registry);
  Histogram& queue_wait = BuildHistogram()
                              .Name("gp_coordinator_queue_wait_seconds")
                              .Help("Time from submit to the first placement")
                              .Register(*registry)
                              .Add({}, kWaitSeconds);
  Gauge& oldest_queued =
      MakeGauge("gp_coordinator_oldest_queued_timestamp_seconds",
                "Submit time of the oldest waiting run; 0 if no run waits", *registry)
          .Add({});
  Family<Gauge>& workers = MakeGauge("gp_coordinator_workers",
                                     "Nodes that have ever connected, by state; lost: silent for "
                                     "longer than agents.lease, or not connected",
                                     *registry);
  Family<Gauge>& slots =
      MakeGauge("gp_coordinator_slots", "Slots of nodes that are not lost, by state", *registry);
  Family<Gauge>& heartbeat = MakeGauge("gp_coordinator_worker_heartbeat_timestamp_seconds",
                                       "When the node was last heard from", *registry);
  Histogram& store_write = BuildHistogram()
                               .Name("gp_coordinator_store_write_duration_seconds")
                               .Help("Time to write decisions to the store durably")
                               .Register(*registry)
                               .Add({}, kWriteSeconds);

  Family<Gauge>& gpus =
      MakeGauge("gp_coordinator_gpus", "GPU slots of nodes that are not lost, by state", *registry);
  Histogram& recovery = BuildHistogram()
                            .Name("gp_coordinator_run_recovery_seconds")
                            .Help("Time from the failure that stopped a run to its next step")
                            .Register(*registry)
                            .Add({}, kWaitSeconds);
  Family<Counter>& calls = BuildCounter()
                               .Name("grpc_server_handled_total")
                               .Help("RPCs that ended, by code")
                               .Register(*registry);
  Family<Histogram>& call_seconds =
      BuildHistogram()
          .Name("grpc_server_handling_seconds")
          .Help("Time from the start of an RPC to its end; streams are not counted")
          .Register(*registry);
  RunFamilies of_runs{*registry};
  NotificationSeries notifications{*registry};
};

// The page that Prometheus scrapes. It refreshes the metrics at each scrape, because the time
// counters of runs also advance between events.
class CoordinatorMetrics::Page final : public prometheus::Collectable {
 public:
  explicit Page(CoordinatorMetrics& metrics) : metrics_(metrics) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    metrics_.Refresh();
    return metrics_.families_->registry->Collect();
  }

 private:
  CoordinatorMetrics& metrics_;
};

CoordinatorMetrics::CoordinatorMetrics(const std::string& version, const Clock& clock,
                                       const Policy& policy)
    : clock_(clock),
      policy_(policy),
      families_(std::make_unique<Families>()),
      page_(std::make_shared<Page>(*this)) {
  families_->build_info.Add({{"component", "coordinator"}, {"version", version}}).Set(1);
  for (const char* outcome : {"succeeded", "failed", "cancelled"}) {
    families_->finished.Add({{"outcome", outcome}});
  }
  // Create every series at the start: Prometheus sees the first failure as an increase only if the
  // series existed before with the value 0.
  for (const ExitCause cause : kFailureCauses) {
    families_->restarts.Add({{"reason", CauseLabel(cause)}});
  }
}

CoordinatorMetrics::~CoordinatorMetrics() = default;

Status CoordinatorMetrics::Started(const Cluster& cluster, Store& store) {
  MutexLock lock(mutex_);
  for (const auto& [sequence, id] : cluster.live) {
    const std::shared_ptr<const Run> run = cluster.FindRun(id);
    AddRun(*run);
    RETURN_IF_ERROR(ReadPast(*run, store));
  }
  cluster_ = std::make_shared<const Cluster>(cluster);
  return OkStatus();
}

Status CoordinatorMetrics::ReadPast(const Run& run, Store& store) {
  uint64_t after = 0;
  while (true) {
    ASSIGN_OR_RETURN(const auto events, store.ReadRun(run.id, after, kEventsAtOnce));
    if (events.empty()) return OkStatus();
    for (const StoredEvent& stored : events) runs_[run.id]->Observe(stored.event, run);
    after = events.back().sequence;
  }
}

void CoordinatorMetrics::Published(const std::shared_ptr<const Cluster>& cluster,
                                   const std::vector<StoredEvent>& events) {
  MutexLock lock(mutex_);
  for (const StoredEvent& stored : events) Count(*cluster, stored);
  cluster_ = cluster;
}

void CoordinatorMetrics::Count(const Cluster& cluster, const StoredEvent& stored) {
  if (stored.event.run.empty()) return;  // an event of a node
  const EventBody& body = stored.event.body;
  const auto run = cluster.FindRun(stored.event.run);
  if (run == nullptr) return CountDeleted(stored.event);
  const bool begins =
      std::holds_alternative<RunSubmitted>(body) || std::holds_alternative<LegRequested>(body);
  if (begins && !runs_.contains(run->id)) AddRun(*run);
  if (const auto* placed = std::get_if<RunPlaced>(&body); placed != nullptr && placed->epoch == 1) {
    families_->queue_wait.Observe(Seconds(stored.event.at) - Seconds(run->submitted_at));
  }
  if (const auto* failed = std::get_if<RankFailed>(&body)) {
    families_->restarts.Add({{"reason", CauseLabel(failed->cause)}}).Increment();
  }
  if (const auto series = runs_.find(run->id); series != runs_.end()) {
    series->second->Observe(stored.event, *run);
  }
  if (const auto* ended = std::get_if<RunEnded>(&body)) {
    families_->finished.Add({{"outcome", std::string(Name(ended->state))}}).Increment();
    runs_.erase(run->id);
  }
}

void CoordinatorMetrics::CountDeleted(const Event& event) {
  if (const auto* ended = std::get_if<RunEnded>(&event.body)) {
    families_->finished.Add({{"outcome", std::string(Name(ended->state))}}).Increment();
  }
  runs_.erase(event.run);
}

void CoordinatorMetrics::AddRun(const Run& run) {
  runs_[run.id] = std::make_unique<RunSeries>(run, families_->of_runs);
}

void CoordinatorMetrics::Refresh() {
  MutexLock lock(mutex_);
  for (const auto& [id, series] : runs_) series->Refresh(clock_.WallNow());
  SetRunGauges();
  SetNodeGauges();
}

void CoordinatorMetrics::SetRunGauges() {
  for (const RunState state : kLiveStates) {
    families_->runs.Add({{"state", std::string(Name(state))}}).Set(cluster_->tally.In(state));
  }
  families_->oldest_queued.Set(Seconds(OldestWaiting(*cluster_)));
}

void CoordinatorMetrics::SetNodeGauges() {
  std::map<std::string, int> workers;
  std::map<std::string, int> slots;
  std::map<std::string, int> gpus;
  for (const char* state : kNodeStates) workers[state] = 0;
  for (const char* state : kSlotStates) slots[state] = gpus[state] = 0;
  const Instant now = clock_.Now();
  for (const auto& [id, node] : cluster_->nodes) {
    if (node->name.empty()) continue;
    const auto assignments = AssignmentsOf(*cluster_, id);
    const bool lost = !node->connected || IsLostAt(now, *cluster_, id, policy_);
    ++workers[StateOf(*node, assignments.size(), BusySlots(*cluster_, *node), lost)];
    if (node->last_heard_at != Timestamp{}) {
      families_->heartbeat.Add({{"worker", node->name}}).Set(Seconds(node->last_heard_at));
    }
    if (lost) continue;
    for (const Slot& slot : node->slots) {
      const char* state = StateOfSlot(*node, slot, assignments);
      ++slots[state];
      if (slot.is_gpu()) ++gpus[state];
    }
  }
  for (const auto& [state, count] : gpus) families_->gpus.Add({{"state", state}}).Set(count);
  for (const auto& [state, count] : workers) families_->workers.Add({{"state", state}}).Set(count);
  for (const auto& [state, count] : slots) families_->slots.Add({{"state", state}}).Set(count);
}

void CoordinatorMetrics::Recorded(const RunId& run, const Progress& progress) {
  MutexLock lock(mutex_);
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  found->second->Observe(progress);
  if (const auto seconds = found->second->TakeRecovery()) families_->recovery.Observe(*seconds);
}

void CoordinatorMetrics::StoreWritten(double seconds) { families_->store_write.Observe(seconds); }

void CoordinatorMetrics::CallEnded(const rpc::EndedCall& call) {
  const prometheus::Labels method = {{"grpc_service", call.service}, {"grpc_method", call.method}};
  prometheus::Labels with_code = method;
  with_code["grpc_code"] = rpc::CodeLabel(call.code);
  families_->calls.Add(with_code).Increment();
  if (!call.streams) families_->call_seconds.Add(method, kCallSeconds).Observe(call.seconds);
}

NotificationSeries& CoordinatorMetrics::notifications() { return families_->notifications; }

std::shared_ptr<prometheus::Collectable> CoordinatorMetrics::page() const { return page_; }

std::string CoordinatorMetrics::Text() const {
  return prometheus::TextSerializer().Serialize(page_->Collect());
}

std::string CoordinatorMetrics::List(const std::string& version) {
  CoordinatorMetrics metrics(version, SystemClock(), Policy());
  Run example;
  example.id = RunId("example");
  example.submission = std::make_shared<const Submission>();
  example.checkpoints.push_back({{.step = 1}});
  Progress progress;
  progress.Add(ExamplePoint());
  {
    MutexLock lock(metrics.mutex_);
    metrics.AddRun(example);
    metrics.runs_[example.id]->Observe({.run = example.id, .body = RunStarted{}}, example);
    metrics.families_->heartbeat.Add({{"worker", "example"}});
  }
  metrics.notifications().AddTarget("example");
  metrics.Recorded(example.id, progress);
  metrics.CallEnded({.service = "gp.v1.RunService", .method = "Submit"});
  return metrics.Text();
}

}  // namespace gp::coordinator

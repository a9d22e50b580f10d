#include "worker/agent/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "base/mutex.h"
#include "worker/agent/rank_memory_series.h"
#include "worker/agent/rank_series.h"

namespace gp::agent {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;

constexpr int kCauseCount = v1::ExitCause_ARRAYSIZE;

// The GPU's number, as nvidia-smi counts: "0" for the slot "gpu-0".
std::string NumberOf(const SlotInfo& slot) { return slot.id.substr(slot.id.find('-') + 1); }

// Removes the series of a value that cannot be read now, so that it does not show an old value.
template <typename T>
void Show(prometheus::Family<prometheus::Gauge>& family, const prometheus::Labels& labels,
          const std::optional<T>& value) {
  prometheus::Gauge& gauge = family.Add(labels);
  if (value) {
    gauge.Set(static_cast<double>(*value));
  } else {
    family.Remove(&gauge);
  }
}

// Raises the counter to the driver's value. It does not fall when the driver's counter restarts
// because the driver was reloaded.
template <typename T>
void Raise(prometheus::Family<prometheus::Counter>& family, const prometheus::Labels& labels,
           const std::optional<T>& value) {
  if (!value) return;
  prometheus::Counter& counter = family.Add(labels);
  const double now = static_cast<double>(*value);
  if (now > counter.Value()) counter.Increment(now - counter.Value());
}

}  // namespace

struct AgentMetrics::Families {
  void AddNode(const std::string& version);
  void AddCoordinator();
  void AddTrainers();
  void AddCheckpoints();
  void SetGpu(const SlotInfo& slot, const GpuReading& reading, bool usable);

  prometheus::Gauge& Gauge(const char* name, const char* help) {
    return BuildGauge().Name(name).Help(help).Register(*registry).Add({});
  }
  prometheus::Counter& Counter(const char* name, const char* help) {
    return BuildCounter().Name(name).Help(help).Register(*registry).Add({});
  }

  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  prometheus::Gauge* slots_free = nullptr;
  prometheus::Gauge* slots_busy = nullptr;
  prometheus::Gauge* slots_unusable = nullptr;
  prometheus::Gauge* connected = nullptr;
  prometheus::Gauge* telemetry_waiting = nullptr;
  prometheus::Counter* points_dropped = nullptr;
  prometheus::Counter* lines_dropped = nullptr;
  prometheus::Counter* connects = nullptr;
  prometheus::Counter* trainer_starts = nullptr;
  std::map<int, prometheus::Counter*> trainer_exits;  // by cause
  prometheus::Counter* checkpoint_bytes = nullptr;
  RankSeries ranks{*registry};
  RankMemorySeries memory{*registry};
  Mutex dropped_mutex;
  uint64_t points_dropped_seen GUARDED_BY(dropped_mutex) = 0;
  uint64_t lines_dropped_seen GUARDED_BY(dropped_mutex) = 0;

  prometheus::Family<prometheus::Gauge>& GaugeFamily(const char* name, const char* help) {
    return BuildGauge().Name(name).Help(help).Register(*registry);
  }
  prometheus::Family<prometheus::Counter>& CounterFamily(const char* name, const char* help) {
    return BuildCounter().Name(name).Help(help).Register(*registry);
  }
  prometheus::Family<prometheus::Gauge>& gpu_info =
      GaugeFamily("gp_gpu_info", "Always 1; the labels describe the GPU.");
  prometheus::Family<prometheus::Gauge>& gpu_usable =
      GaugeFamily("gp_gpu_usable", "1 while trainers may be started on it.");
  prometheus::Family<prometheus::Gauge>& gpu_utilization =
      GaugeFamily("gp_gpu_utilization_ratio",
                  "Share of the driver's last sample period in which a kernel ran, 0 to 1.");
  prometheus::Family<prometheus::Gauge>& gpu_memory_used =
      GaugeFamily("gp_gpu_memory_used_bytes", "Memory of the GPU in use by any process.");
  prometheus::Family<prometheus::Gauge>& gpu_memory_capacity =
      GaugeFamily("gp_gpu_memory_capacity_bytes", "Memory of the GPU.");
  prometheus::Family<prometheus::Gauge>& gpu_temperature =
      GaugeFamily("gp_gpu_temperature_celsius", "Temperature of the chip.");
  prometheus::Family<prometheus::Gauge>& gpu_power =
      GaugeFamily("gp_gpu_power_watts", "Power that the card draws.");
  prometheus::Family<prometheus::Counter>& gpu_energy =
      CounterFamily("gp_gpu_energy_joules_total", "Energy since the driver was loaded.");
  prometheus::Family<prometheus::Counter>& gpu_ecc_errors =
      CounterFamily("gp_gpu_ecc_uncorrected_errors_total",
                    "Memory errors that could not be corrected, since the driver was loaded.");
};

void AgentMetrics::Families::SetGpu(const SlotInfo& slot, const GpuReading& reading, bool usable) {
  const prometheus::Labels gpu = {{"gpu", NumberOf(slot)}};
  gpu_info
      .Add({{"gpu", NumberOf(slot)},
            {"uuid", slot.device},
            {"name", slot.device_name},
            {"compute_capability", slot.compute_capability}})
      .Set(1);
  gpu_usable.Add(gpu).Set(usable ? 1 : 0);
  gpu_memory_capacity.Add(gpu).Set(static_cast<double>(slot.memory_bytes));
  Show(gpu_memory_used, gpu, reading.memory_used_bytes);
  Show(gpu_utilization, gpu, reading.utilization_ratio);
  Show(gpu_temperature, gpu, reading.temperature_celsius);
  Show(gpu_power, gpu, reading.power_watts);
  Raise(gpu_energy, gpu, reading.energy_joules);
  Raise(gpu_ecc_errors, gpu, reading.ecc_errors_uncorrected);
}

void AgentMetrics::Families::AddNode(const std::string& version) {
  BuildGauge()
      .Name("gp_build_info")
      .Help("Version of the running program; always 1")
      .Register(*registry)
      .Add({{"component", "worker"}, {"version", version}})
      .Set(1);
  auto& slots = BuildGauge()
                    .Name("gp_worker_slots")
                    .Help("Slots of this node, by state.")
                    .Register(*registry);
  slots_free = &slots.Add({{"state", "free"}});
  slots_busy = &slots.Add({{"state", "busy"}});
  slots_unusable = &slots.Add({{"state", "unusable"}});
}

void AgentMetrics::Families::AddCoordinator() {
  connected =
      &Gauge("gp_worker_coordinator_connected", "1 while the stream to the coordinator is up.");
  connects = &Counter("gp_worker_coordinator_connects_total",
                      "Times that a coordinator accepted this agent.");
  telemetry_waiting = &Gauge("gp_worker_telemetry_waiting_items",
                             "Points and lines not yet acknowledged by the coordinator.");
  auto& dropped = BuildCounter()
                      .Name("gp_worker_telemetry_dropped_total")
                      .Help("Points and lines lost because their queue was full.")
                      .Register(*registry);
  points_dropped = &dropped.Add({{"kind", "point"}});
  lines_dropped = &dropped.Add({{"kind", "line"}});
}

void AgentMetrics::Families::AddTrainers() {
  trainer_starts = &Counter("gp_worker_trainer_starts_total", "Trainer processes started.");
  auto& exits = BuildCounter()
                    .Name("gp_worker_trainer_exits_total")
                    .Help("Trainers that ended or could not be started, by cause.")
                    .Register(*registry);
  for (int cause = 1; cause < kCauseCount; ++cause) {
    trainer_exits[cause] = &exits.Add({{"cause", CauseLabel(static_cast<v1::ExitCause>(cause))}});
  }
}

void AgentMetrics::Families::AddCheckpoints() {
  checkpoint_bytes =
      &Counter("gp_checkpoint_written_bytes_total", "Bytes of checkpoints, all files.");
}

// The page that Prometheus scrapes; a scrape asks the kernel for the memory of trainers.
class AgentMetrics::Page final : public prometheus::Collectable {
 public:
  explicit Page(Families& families) : families_(families) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    families_.memory.Refresh();
    return families_.registry->Collect();
  }

 private:
  Families& families_;
};

AgentMetrics::AgentMetrics(const std::string& version)
    : families_(std::make_unique<Families>()), page_(std::make_shared<Page>(*families_)) {
  families_->AddNode(version);
  families_->AddCoordinator();
  families_->AddTrainers();
  families_->AddCheckpoints();
}

AgentMetrics::~AgentMetrics() = default;

void AgentMetrics::SetSlots(const SlotCounts& counts) {
  families_->slots_free->Set(static_cast<double>(counts.free));
  families_->slots_busy->Set(static_cast<double>(counts.busy));
  families_->slots_unusable->Set(static_cast<double>(counts.unusable));
}

void AgentMetrics::SetConnected(bool connected) {
  if (connected) families_->connects->Increment();
  families_->connected->Set(connected ? 1 : 0);
}

void AgentMetrics::SetTelemetry(size_t waiting, uint64_t dropped_points, uint64_t dropped_lines) {
  families_->telemetry_waiting->Set(static_cast<double>(waiting));
  MutexLock lock(families_->dropped_mutex);
  families_->points_dropped->Increment(
      static_cast<double>(dropped_points - families_->points_dropped_seen));
  families_->lines_dropped->Increment(
      static_cast<double>(dropped_lines - families_->lines_dropped_seen));
  families_->points_dropped_seen = dropped_points;
  families_->lines_dropped_seen = dropped_lines;
}

void AgentMetrics::TrainerStarted(const RankKey& key, int pid, uint64_t memory_limit_bytes) {
  families_->trainer_starts->Increment();
  families_->memory.Started(key, pid, memory_limit_bytes);
}

void AgentMetrics::RankContinues(const RankKey& key, int pid, uint64_t memory_limit_bytes) {
  families_->memory.Started(key, pid, memory_limit_bytes);
}

void AgentMetrics::TrainerExited(v1::ExitCause cause) {
  if (const auto found = families_->trainer_exits.find(cause);
      found != families_->trainer_exits.end()) {
    found->second->Increment();
  }
}

void AgentMetrics::StepCommitted(const RankKey& key, const link::StepReport& report) {
  families_->ranks.StepCommitted(key, report);
}

void AgentMetrics::CheckpointWritten(const RankKey& key, const SaveCost& cost) {
  families_->checkpoint_bytes->Increment(static_cast<double>(cost.size_bytes));
  families_->ranks.CheckpointWritten(key, cost);
}

void AgentMetrics::RankEnded(const RankKey& key, MonotonicTime at) {
  families_->ranks.Ended(key, at);
  families_->memory.Ended(key);
}

void AgentMetrics::RemoveEnded(MonotonicTime now) { families_->ranks.RemoveEnded(now); }

void AgentMetrics::SetGpus(const std::vector<SlotInfo>& slots,
                           const std::vector<GpuReading>& readings, const SlotHealths& healths) {
  for (const SlotInfo& slot : slots) {
    const auto reading =
        std::find_if(readings.begin(), readings.end(),
                     [&](const GpuReading& candidate) { return candidate.uuid == slot.device; });
    if (reading != readings.end()) families_->SetGpu(slot, *reading, !healths.contains(slot.id));
  }
}

std::string AgentMetrics::List(const std::string& version) {
  AgentMetrics metrics(version);
  metrics.TrainerStarted({.run_id = "example"}, 0, 1);
  metrics.StepCommitted({.run_id = "example"}, {.point = {},
                                                .rank = {.allreduce_seconds = 0,
                                                         .allreduce_bytes = 0,
                                                         .batches_ready = 0,
                                                         .data_read_bytes = 0}});
  metrics.SetGpus({{.id = "gpu-0", .device = "example", .cores = {}}},
                  {{.uuid = "example",
                    .memory_used_bytes = 0,
                    .utilization_ratio = 0,
                    .temperature_celsius = 0,
                    .power_watts = 0,
                    .energy_joules = 0,
                    .ecc_errors_uncorrected = 0}},
                  {});
  return metrics.Text();
}

std::shared_ptr<prometheus::Collectable> AgentMetrics::page() const { return page_; }

std::string AgentMetrics::Text() const {
  return prometheus::TextSerializer().Serialize(page_->Collect());
}

std::string CauseLabel(v1::ExitCause cause) {
  std::string label = v1::ExitCause_Name(cause);
  label.erase(0, std::string("EXIT_CAUSE_").size());
  std::transform(label.begin(), label.end(), label.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return label;
}

}  // namespace gp::agent

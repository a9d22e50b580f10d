// AgentMetrics: the metrics of gp-worker for Prometheus. Other code calls these methods and never
// the metrics library. Thread-safe; owned by the daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "contract/messages.h"
#include "gp/v1/agent_service.pb.h"
#include "worker/agent/gpu/gpu_inventory.h"
#include "worker/agent/rank.h"
#include "worker/agent/save_times.h"
#include "worker/agent/slots.h"

namespace prometheus {
class Collectable;
}

namespace gp::agent {

class AgentMetrics {
 public:
  explicit AgentMetrics(const std::string& version);
  ~AgentMetrics();
  AgentMetrics(const AgentMetrics&) = delete;
  AgentMetrics& operator=(const AgentMetrics&) = delete;

  void SetSlots(const SlotCounts& counts);
  void SetConnected(bool connected);
  void SetTelemetry(size_t waiting, uint64_t dropped_points, uint64_t dropped_lines);
  // `memory_limit_bytes`: the limit of its control group; 0 without one.
  void TrainerStarted(const RankKey& key, int pid, uint64_t memory_limit_bytes);
  // The process of a rank that has ended goes on as this one.
  void RankContinues(const RankKey& key, int pid, uint64_t memory_limit_bytes);
  // Also for assignments that were declined or could not be started.
  void TrainerExited(v1::ExitCause cause);
  void StepCommitted(const RankKey& key, const link::StepReport& report);
  // Called when all files of the checkpoint are synced.
  void CheckpointWritten(const RankKey& key, const SaveCost& cost);
  // Removes the rank's memory series; the next RemoveEnded after a minute removes its other series.
  void RankEnded(const RankKey& key, MonotonicTime at);
  void RemoveEnded(MonotonicTime now);
  // The newest readings of the GPUs, whose slots are `slots`. A value that a GPU does not offer has
  // no series.
  void SetGpus(const std::vector<SlotInfo>& slots, const std::vector<GpuReading>& readings,
               const SlotHealths& healths);

  // The page that Prometheus scrapes; must not be used after this object is destroyed.
  std::shared_ptr<prometheus::Collectable> page() const;
  // All metrics in the text exposition format.
  std::string Text() const;
  // Every metric that the program can export, as it would look with one rank and one GPU.
  static std::string List(const std::string& version);

 private:
  struct Families;
  class Page;
  const std::unique_ptr<Families> families_;
  const std::shared_ptr<prometheus::Collectable> page_;
};

// "signal", "collective", ...: the label of an exit cause.
std::string CauseLabel(v1::ExitCause cause);

}  // namespace gp::agent

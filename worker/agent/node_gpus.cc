#include "worker/agent/node_gpus.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "worker/agent/gpu_watch.h"

namespace gp::agent {
namespace {

constexpr std::array<std::string_view, 3> kForGpus = {
    "LD_LIBRARY_PATH=", "CUDA_CACHE_PATH=", "GP_NCCL_LIBRARY="};
constexpr std::string_view kNcclInterface = "NCCL_SOCKET_IFNAME=";

std::string TrainerProgram(const WorkerSettings& settings, const std::string& program_directory) {
  if (!settings.gpu_trainer_program.empty()) return settings.gpu_trainer_program;
  return JoinPath(program_directory, "gp-trainer-cuda");
}

// A missing driver is a problem only if the settings name a GPU.
std::string WhyNone(const Status& status, const VisibleDevices& visible) {
  if (status.code() != StatusCode::kNotFound) return Message(status);
  const auto missing = visible.FirstMissing({});
  if (!missing) return "";
  return fmt::format("--gpus (gpu.devices) names '{}', but this node has no NVIDIA driver: {}",
                     *missing, Message(status));
}

}  // namespace

NodeGpus FindGpus(const WorkerSettings& settings, const char* environment,
                  const std::string& program_directory, const std::vector<int>& cores) {
  NodeGpus gpus;
  gpus.trainer_program = TrainerProgram(settings, program_directory);
  if (settings.gpu_devices == "none") return gpus;
  const VisibleDevices visible(settings.gpu_devices, environment);
  auto inventory = GpuInventory::Open(settings.gpu_library, visible);
  if (!inventory.ok()) {
    gpus.problem = WhyNone(inventory.status(), visible);
    return gpus;
  }
  gpus.inventory = std::move(*inventory);
  gpus.driver = gpus.inventory->driver().Text();
  gpus.problem = gpus.inventory->problem();
  gpus.slots = MakeGpuSlots(gpus.inventory->gpus(), cores);
  const SlotHealths healths =
      HealthOf(gpus.slots, gpus.inventory->Read(), WhyNoTrainer(gpus.trainer_program));
  for (SlotInfo& slot : gpus.slots) {
    if (const auto found = healths.find(slot.id); found != healths.end()) {
      slot.health = found->second;
    }
  }
  return gpus;
}

std::string GpusJson(const NodeGpus& gpus) {
  nlohmann::json document = {{"apiVersion", "gp/v1"},           {"kind", "NodeGpus"},
                             {"driver", gpus.driver},           {"problem", gpus.problem},
                             {"trainer", gpus.trainer_program}, {"gpus", nlohmann::json::array()}};
  for (const SlotInfo& slot : gpus.slots) {
    document["gpus"].push_back({{"slot", slot.id},
                                {"uuid", slot.device},
                                {"name", slot.device_name},
                                {"memory_bytes", slot.memory_bytes},
                                {"compute_capability", slot.compute_capability},
                                {"problem", slot.health.problem}});
  }
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::vector<std::string> GpuEnvironment(const char* const* environment,
                                        const WorkerSettings& settings) {
  std::vector<std::string> chosen;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    bool wanted = entry.starts_with("NCCL_");
    for (const std::string_view name : kForGpus) wanted = wanted || entry.starts_with(name);
    if (entry.starts_with(kNcclInterface) && !settings.nccl_interface.empty()) wanted = false;
    if (wanted) chosen.emplace_back(entry);
  }
  if (!settings.nccl_interface.empty()) {
    chosen.push_back(std::string(kNcclInterface) + settings.nccl_interface);
  }
  return chosen;
}

}  // namespace gp::agent

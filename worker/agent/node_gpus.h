// NodeGpus: the GPUs that gp-worker found when it started. Made once by the daemon; also represents
// a node without GPUs, or with a broken driver.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/agent/gpu/gpu_inventory.h"
#include "worker/agent/settings.h"
#include "worker/agent/slots.h"

namespace gp::agent {

struct NodeGpus {
  std::optional<GpuInventory> inventory;  // absent: gpu.devices is none, or NVML cannot be used
  std::string driver;                     // "580.65.06, CUDA 13.0"; empty without an inventory
  std::string problem;                    // why GPUs of this node cannot be used; empty if none
  std::string trainer_program;
  std::vector<SlotInfo> slots;  // with their health
};

// `environment`: the value of CUDA_VISIBLE_DEVICES, null when it is not set. `program_directory`:
// where gp-worker is. REQUIRES: `cores` is not empty.
NodeGpus FindGpus(const WorkerSettings& settings, const char* environment,
                  const std::string& program_directory, const std::vector<int>& cores);

// The same as one JSON document, for `gp-worker --print-gpus` and the programs that run it.
std::string GpusJson(const NodeGpus& gpus);

// The variables of `environment` (as in environ(7)) that only trainers on GPUs inherit: search
// path of the dynamic linker, CUDA's cache, and every variable of NCCL. gpu.nccl_interface replaces
// NCCL_SOCKET_IFNAME.
std::vector<std::string> GpuEnvironment(const char* const* environment,
                                        const WorkerSettings& settings);

}  // namespace gp::agent

// GpuInventory: the GPUs of this node and their health, read from the driver with NVML. Made once
// at start; Read may be called from one other thread (worker/agent/gpu_watch.h). A call can take
// long when a GPU has hung.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "worker/agent/gpu/nvml_library.h"
#include "worker/agent/gpu/visible_devices.h"

namespace gp::agent {

// One GPU, or one MIG device; each is a slot. Never changes.
struct Gpu {
  int index = 0;  // the whole card's index, as nvidia-smi counts
  std::string uuid;
  std::string name;
  uint64_t memory_bytes = 0;
  std::string compute_capability;  // "9.0"

  bool operator==(const Gpu&) const = default;
};

// The values that a GPU reports now. A value that it does not offer is absent (a MIG device has no
// utilisation).
struct GpuReading {
  std::string uuid;
  bool lost = false;    // it left the bus or must be reset; its work is lost
  std::string problem;  // why new work must not start there; if lost, also the fix. Empty: healthy
  std::optional<uint64_t> memory_used_bytes;
  std::optional<double> utilization_ratio;  // 0 to 1: time in which a kernel ran
  std::optional<double> temperature_celsius;
  std::optional<double> power_watts;
  std::optional<double> energy_joules;             // since the driver was loaded
  std::optional<uint64_t> ecc_errors_uncorrected;  // since the driver was loaded
};

struct GpuDriver {
  std::string version;       // "580.65.06"
  std::string cuda_version;  // the newest that it supports: "13.0"

  // "580.65.06, CUDA 13.0"
  std::string Text() const { return version + ", CUDA " + cuda_version; }
};

class GpuInventory {
 public:
  // Finds the GPUs that `visible` allows, in its order; a card with MIG devices is replaced by
  // these. The errors of NvmlLibrary::Open, and FailedPrecondition when the GPUs cannot be counted.
  static StatusOr<GpuInventory> Open(const std::string& library, const VisibleDevices& visible);

  const GpuDriver& driver() const { return driver_; }
  const std::vector<Gpu>& gpus() const { return gpus_; }
  // Names GPUs that were left out because they did not answer at the start; if there are none, the
  // first nonexistent GPU in `visible`. Empty when there is no problem.
  const std::string& problem() const { return problem_; }

  // One reading for each GPU, in the order of gpus().
  std::vector<GpuReading> Read() const;

 private:
  explicit GpuInventory(std::unique_ptr<NvmlLibrary> nvml) : nvml_(std::move(nvml)) {}
  Status FindGpus(const VisibleDevices& visible);
  GpuReading ReadOne(const Gpu& gpu) const;

  std::unique_ptr<NvmlLibrary> nvml_;
  GpuDriver driver_;
  std::vector<Gpu> gpus_;
  std::string problem_;
};

}  // namespace gp::agent

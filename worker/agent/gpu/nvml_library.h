// NvmlLibrary: NVIDIA's management library, opened at run time, so that one gp-worker serves
// machines with and without GPUs. Declares the few functions that are called itself, without NVML's
// header; NVML keeps its C interface stable. Owned by a GpuInventory; NVML itself is thread-safe.
//
// Reference: https://docs.nvidia.com/deploy/nvml-api/
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace gp::agent {

using NvmlReturn = int;
using NvmlDevice = struct nvmlDevice_st*;

inline constexpr NvmlReturn kNvmlSuccess = 0;
inline constexpr NvmlReturn kNvmlNotSupported = 3;
inline constexpr NvmlReturn kNvmlNotFound = 6;
inline constexpr NvmlReturn kNvmlDriverNotLoaded = 9;
inline constexpr NvmlReturn kNvmlGpuIsLost = 15;
inline constexpr NvmlReturn kNvmlResetRequired = 16;
inline constexpr NvmlReturn kNvmlVersionMismatch = 18;

struct NvmlMemory {
  unsigned long long total = 0;  // bytes
  unsigned long long free = 0;
  unsigned long long used = 0;
};
struct NvmlUtilization {
  unsigned int gpu = 0;  // percent of the last sample period in which a kernel ran
  unsigned int memory = 0;
};

// The functions by their names in NVML; all of them are set.
struct NvmlFunctions {
  NvmlReturn (*init)();
  NvmlReturn (*shutdown)();
  const char* (*error_string)(NvmlReturn);
  NvmlReturn (*system_driver_version)(char*, unsigned int);
  NvmlReturn (*system_cuda_driver_version)(int*);  // 13000 is 13.0
  NvmlReturn (*device_count)(unsigned int*);
  NvmlReturn (*device_by_index)(unsigned int, NvmlDevice*);
  NvmlReturn (*device_by_uuid)(const char*, NvmlDevice*);
  NvmlReturn (*device_uuid)(NvmlDevice, char*, unsigned int);
  NvmlReturn (*device_name)(NvmlDevice, char*, unsigned int);
  NvmlReturn (*device_memory)(NvmlDevice, NvmlMemory*);
  NvmlReturn (*device_compute_capability)(NvmlDevice, int*, int*);
  NvmlReturn (*device_utilization)(NvmlDevice, NvmlUtilization*);
  NvmlReturn (*device_temperature)(NvmlDevice, int, unsigned int*);  // sensor 0: the chip; celsius
  NvmlReturn (*device_power)(NvmlDevice, unsigned int*);             // milliwatts
  NvmlReturn (*device_energy)(NvmlDevice,
                              unsigned long long*);  // millijoules since the driver was loaded
  // Error type 1: uncorrected; counter type 0: since the driver was loaded.
  NvmlReturn (*device_ecc_errors)(NvmlDevice, int, int, unsigned long long*);
  NvmlReturn (*device_mig_mode)(NvmlDevice, unsigned int*, unsigned int*);
  NvmlReturn (*device_mig_count_max)(NvmlDevice, unsigned int*);
  NvmlReturn (*device_mig_by_index)(NvmlDevice, unsigned int, NvmlDevice*);
};

class NvmlLibrary {
 public:
  // Loads and initialises `path` ("libnvidia-ml.so.1": from LD_LIBRARY_PATH, else from the system's
  // libraries). NotFound: this machine has no NVIDIA driver. FailedPrecondition: its driver cannot
  // be used; the message says what to do.
  static StatusOr<std::unique_ptr<NvmlLibrary>> Open(const std::string& path);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  const NvmlFunctions& call() const { return functions_; }
  // "the driver does not answer": the problem and, if known, the fix.
  std::string Explain(NvmlReturn code) const;

 private:
  explicit NvmlLibrary(void* handle) : handle_(handle) {}
  Status Resolve(const std::string& path);

  void* const handle_;
  bool initialised_ = false;
  NvmlFunctions functions_{};
};

}  // namespace gp::agent

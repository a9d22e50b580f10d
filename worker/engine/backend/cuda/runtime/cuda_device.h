// The properties of an NVIDIA GPU: which precisions and attention kernels work on it, and why the
// others do not. Query asks the CUDA runtime; the rest are pure functions of its answer. Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gp::engine {

struct CudaDevice {
  std::string name;  // "NVIDIA H200"
  int major = 0;     // compute capability
  int minor = 0;
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t shared_bytes_per_block = 0;  // the most a kernel can request
  int driver = 0;                      // 13000: the newest CUDA that the driver runs
  int runtime = 0;                     // 13000: the version this program was built with

  int capability() const { return 10 * major + minor; }
  std::string architecture() const { return "sm_" + std::to_string(capability()); }
};

// The visible GPUs; 0 without a driver.
int CountDevices();

// Device `index` of those that this process sees. Throws CudaError.
CudaDevice QueryDevice(int index);

// One line of the table that the log and `doctor` print.
struct CudaSupport {
  std::string feature;  // "bf16", "fp8", "cudnn attention"
  bool works = false;
  std::string reason;  // why not, and what to use instead
};

std::vector<CudaSupport> SupportOf(const CudaDevice& device);

// The entry for `feature` in SupportOf(device). Throws std::out_of_range for an unknown feature.
CudaSupport SupportOf(const CudaDevice& device, const std::string& feature);

}  // namespace gp::engine

#include "worker/engine/backend/cuda/runtime/cuda_device.h"

#include <array>
#include <stdexcept>

#include "worker/engine/backend/cuda/runtime/runtime.h"

namespace gp::engine {
namespace {

struct Requirement {
  const char* feature;
  int capability;
  const char* otherwise;
};

constexpr std::array<Requirement, 8> kRequirements = {{
    {"fp32", 75, "train on a CPU"},
    {"fp16", 75, "train on a CPU"},
    {"tf32", 80, "use precision: fp32"},
    {"bf16", 80, "use precision: fp16, which scales its loss"},
    {"fp8", 89, "use precision: bf16"},
    {"math attention", 75, "train on a CPU"},
    {"flash attention", 75, "use engine.attention: math"},
    {"cudnn attention", 80, "use engine.attention: flash"},
}};

}  // namespace

int CountDevices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

CudaDevice QueryDevice(int index) {
  cudaDeviceProp properties;
  CheckCuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  CudaDevice info{
      .name = properties.name,
      .major = properties.major,
      .minor = properties.minor,
      .multiprocessors = properties.multiProcessorCount,
      .memory_bytes = static_cast<int64_t>(properties.totalGlobalMem),
      .shared_bytes_per_block = static_cast<int64_t>(properties.sharedMemPerBlockOptin)};
  CheckCuda(cudaDriverGetVersion(&info.driver), "cudaDriverGetVersion");
  CheckCuda(cudaRuntimeGetVersion(&info.runtime), "cudaRuntimeGetVersion");
  return info;
}

std::vector<CudaSupport> SupportOf(const CudaDevice& device) {
  std::vector<CudaSupport> table;
  for (const Requirement& needed : kRequirements) {
    CudaSupport line{.feature = needed.feature, .works = device.capability() >= needed.capability};
    if (!line.works) {
      line.reason = "needs compute capability " + std::to_string(needed.capability / 10) + "." +
                    std::to_string(needed.capability % 10) + ", " + device.name + " has " +
                    std::to_string(device.major) + "." + std::to_string(device.minor) + "; " +
                    needed.otherwise;
    }
    table.push_back(line);
  }
  return table;
}

CudaSupport SupportOf(const CudaDevice& device, const std::string& feature) {
  for (const CudaSupport& line : SupportOf(device)) {
    if (line.feature == feature) return line;
  }
  throw std::out_of_range("the GPU support table has no line '" + feature + "'");
}

}  // namespace gp::engine

#include "worker/engine/backend/cuda/cuda_device.h"

#include <array>
#include <stdexcept>
#include <string_view>

#include "worker/engine/backend/cuda/runtime.h"

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

struct CardPeaks {
  const char* name;  // what the driver's name begins with
  int64_t memory_gib_min;
  double fp32, tf32, half, fp8;  // TFLOP/s
  double memory;                 // GB/s
};

// The first line that fits counts, so longer names come first. Sources: the data sheets of the
// cards and the architecture white papers on nvidia.com, dense figures.
constexpr std::array<CardPeaks, 24> kCards = {{
    {"NVIDIA B200", 0, 75, 1125, 2250, 4500, 8000},
    {"NVIDIA GH200", 100, 67, 494.7, 989.4, 1978.9, 4900},
    {"NVIDIA GH200", 0, 67, 494.7, 989.4, 1978.9, 4000},
    {"NVIDIA H200 NVL", 0, 60, 417.5, 835.5, 1671, 4800},
    {"NVIDIA H200", 0, 67, 494.7, 989.4, 1978.9, 4800},
    {"NVIDIA H100 NVL", 0, 60, 417.5, 835.5, 1671, 3900},
    {"NVIDIA H100 PCIe", 0, 51, 378, 756, 1513, 2000},
    {"NVIDIA H100", 0, 66.9, 494.7, 989.4, 1978.9, 3350},
    {"NVIDIA A100-PCIE", 60, 19.5, 156, 312, 0, 1935},
    {"NVIDIA A100 80GB PCIe", 0, 19.5, 156, 312, 0, 1935},
    {"NVIDIA A100", 60, 19.5, 156, 312, 0, 2039},
    {"NVIDIA A100", 0, 19.5, 156, 312, 0, 1555},
    {"NVIDIA L40S", 0, 91.6, 183, 362, 733, 864},
    {"NVIDIA L40", 0, 90.5, 90.5, 181, 362, 864},
    {"NVIDIA L4", 0, 30.3, 60, 121, 242, 300},
    {"NVIDIA A40", 0, 37.4, 74.8, 149.7, 0, 696},
    {"NVIDIA A30", 0, 10.3, 82, 165, 0, 933},
    {"NVIDIA A10G", 0, 31.5, 35, 70, 0, 600},
    {"NVIDIA A10", 0, 31.2, 62.5, 125, 0, 600},
    {"NVIDIA RTX A6000", 0, 38.7, 77.4, 154.8, 0, 768},
    {"NVIDIA GeForce RTX 5090", 0, 104.8, 104.8, 209.5, 419, 1792},
    {"NVIDIA GeForce RTX 4090", 0, 82.6, 82.6, 165.2, 330.3, 1008},
    {"NVIDIA GeForce RTX 3090", 0, 35.6, 35.6, 71, 0, 936},
    {"Tesla T4", 0, 8.1, 0, 65, 0, 320},
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
  throw std::out_of_range("the support table of a GPU has no line '" + feature + "'");
}

std::optional<CudaPeaks> PeaksOf(const CudaDevice& device) {
  for (const CardPeaks& card : kCards) {
    if (!device.name.starts_with(card.name)) continue;
    if (device.memory_bytes < card.memory_gib_min << 30) continue;
    return CudaPeaks{.fp32 = card.fp32 * 1e12,
                     .tf32 = card.tf32 * 1e12,
                     .half = card.half * 1e12,
                     .fp8 = card.fp8 * 1e12,
                     .memory = card.memory * 1e9};
  }
  return std::nullopt;
}

}  // namespace gp::engine

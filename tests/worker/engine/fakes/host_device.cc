// Implements device_backend.h with the CPU backend: programs that link it treat the host as a GPU.
// A device group that runs on the host can access its memory.
#include "worker/engine/backend/cpu/cpu_backend.h"
#include "worker/engine/backend/device_backend.h"

namespace gp::engine {
namespace {

constexpr int64_t kMemoryBytes = int64_t{64} << 30;

}  // namespace

DeviceInfo FindDevice() {
  return {.name = "Host",
          .kernels = "host",
          .memory_bytes = kMemoryBytes,
          .free_bytes = kMemoryBytes,
          .lacks = {{"tf32", "is a CPU in disguise"},
                    {"fp16", "is a CPU in disguise"},
                    {"fp8", "is a CPU in disguise"},
                    {"cudnn", "is a CPU in disguise"}}};
}

DeviceBackend MakeDeviceBackend(const DeviceBackendOptions& options) {
  return {.backend = MakeCpuBackend({.threads = 1,
                                     .sequence = options.arena.sequence,
                                     .head_size = options.shape.channels / options.shape.heads}),
          .choices = {.attention = "flash"}};
}

}  // namespace gp::engine
